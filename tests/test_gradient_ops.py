"""Every op under the public functions, in NumPy code: values, gradients, and the contract of ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from differences import along, assert_close
from op_table import HALF_KNOWN, NEED_EXTENTS, NOT_A_FUNCTION_OF_THE_REALS, ROWS
from relgrad.relations import LIBRARY

import relgrad as rg
import relgrad.ops
from relgrad.contract import Laws
from relgrad.gradient import Anchor, Gradient, Pushforward
from relgrad.interpret import interpret
from relgrad.leaf import Input, Known
from relgrad.op import Constant, Op, Pack, Project, as_term
from relgrad.ops.conventional import vanishing
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.failing import Fails
from relgrad.ops.rectangular import Completion
from relgrad.schedule import schedule, strategy
from relgrad.term import Term, subterms
from relgrad.trace.trace import trace
from relgrad.trace.tracer import Tracer
from relgrad.types import ArrayType, Interval, TupleType


def parts(y: Any) -> tuple[Any, ...]:
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the sum of what is floating in f's results, weighted so that no two entries count the same."""

    def loss(*args: Any) -> Any:
        result = 0.0
        for y in parts(f(*args)):
            if np.result_type(y).kind == "f":
                weights = np.cos(1.0 + 2.0 * np.arange(np.size(y), dtype=float)).reshape(np.shape(y))
                result = result + np.sum(weights.astype(np.result_type(y)) * y)
        return result + 0.0 * np.sum(args[0])

    return loss


def directions(args: tuple[Any, ...], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=np.shape(a)) for a in args]


def along_gradient(loss: Callable[..., Any], vs: list[Any], strategy: str = "default") -> Callable[..., Any]:
    everywhere = tuple(range(len(vs)))

    def slope(*args: Any) -> Any:
        return sum(
            np.sum(g * v)
            for g, v in zip(rg.grad(loss, everywhere, strategy=strategy)(*args), vs, strict=True)
        )

    return slope


@pytest.mark.sampled(8)
@pytest.mark.parametrize("label", ROWS)
def test_values_are_those_of_numpy(label: str) -> None:
    f, *args = ROWS[label]
    expected = f(*args)
    stable = rg.stabilize(lambda *xs: f(*xs))
    got = stable(*args)
    for a, b in zip(parts(got), parts(expected), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert_close(a, b, 1e-12)
    namespace: dict[str, Any] = {}
    exec(stable.source(*args), namespace)
    for a, b in zip(parts(namespace["stabilize_f"](*args)), parts(got), strict=True):
        np.testing.assert_array_equal(a, b)
    assert all(len(line) <= 110 for line in str(stable.explain(*args)).split("\n"))


@pytest.mark.sampled(36)
@pytest.mark.parametrize("label", ROWS)
def test_gradients_agree_with_differences(label: str) -> None:
    f, *args = ROWS[label]
    loss, vs, everywhere = total(f), directions(tuple(args), 1), tuple(range(len(args)))
    gradient = rg.grad(loss, everywhere)
    got = gradient(*args)
    for g, a in zip(got, args, strict=True):
        assert np.shape(g) == np.shape(a) and g.dtype == np.float64
    slope = sum(np.sum(g * v) for g, v in zip(got, vs, strict=True))
    assert_close(slope, along(loss, args, vs), 1e-7)
    namespace: dict[str, Any] = {}
    exec(gradient.source(*args), namespace)
    for a, b in zip(namespace["grad_loss"](*args), got, strict=True):
        np.testing.assert_array_equal(a, b)
    text = str(gradient.explain(*args))
    assert text.startswith("from\n") and "\nto\n" in text
    for a, b in zip(rg.grad(loss, everywhere, strategy="naive")(*args), got, strict=True):
        assert_close(a, b, 1e-9)


@pytest.mark.sampled(72)
@pytest.mark.parametrize("label", ROWS)
def test_second_derivatives_agree_in_both_modes(label: str) -> None:
    f, *args = ROWS[label]
    loss, vs, ws = total(f), directions(tuple(args), 1), directions(tuple(args), 2)
    first = along_gradient(loss, vs)
    value, slope = rg.jvp(loss, args, vs)
    assert_close(value, loss(*args), 1e-12)
    assert_close(slope, first(*args), 1e-10)
    got = along_gradient(first, ws)(*args)
    scale = max(1.0, abs(got))
    assert_close(got, along(first, args, ws), 1e-6 * scale)
    assert_close(rg.jvp(first, args, ws)[1], got, 1e-9 * scale)
    forward = rg.jvp(lambda *xs: rg.jvp(loss, xs, vs)[1], args, ws)[1]
    assert_close(forward, got, 1e-9 * scale)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("label", ROWS)
def test_float32_throughout(label: str) -> None:
    f, *args = ROWS[label]
    narrow = [np.asarray(a, np.float32)[()] for a in args]
    for got, expected in zip(
        parts(rg.stabilize(lambda *xs: f(*xs))(*narrow)), parts(f(*narrow)), strict=True
    ):
        assert np.asarray(got).dtype == np.asarray(expected).dtype
    loss, everywhere = total(f), tuple(range(len(args)))
    wide = rg.grad(loss, everywhere)(*args)
    for g, expected in zip(rg.grad(loss, everywhere)(*narrow), wide, strict=True):
        assert g.dtype == np.float32
        assert_close(g, expected, 5e-3)


@pytest.mark.parametrize("label", NOT_A_FUNCTION_OF_THE_REALS)
def test_what_has_no_derivative_says_so(label: str) -> None:
    f, *args = NOT_A_FUNCTION_OF_THE_REALS[label]
    assert_close(rg.stabilize(lambda *xs: f(*xs))(*args), f(*args))
    with pytest.raises(rg.GradientError, match="not defined"):
        rg.grad(total(f))(*args)
    with pytest.raises(rg.GradientError, match="not defined"):
        rg.jvp(f, args, args)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("label", [label for label in ROWS if label not in (*NEED_EXTENTS, *HALF_KNOWN)])
def test_extents_may_be_unknown(label: str) -> None:
    f, *args = ROWS[label]
    xs = [unknown(f"x{i}", a) for i, a in enumerate(args)]
    same = lambda roots, inputs: interpret(roots, dict(zip(inputs, map(np.asarray, args), strict=True)))
    traced = trace(lambda *xs: parts(f(*xs)), xs)
    for a, b in zip(same(traced.outputs, traced.inputs), parts(f(*args)), strict=True):
        assert_close(a, b, 1e-12)

    def loss(*xs: Any) -> Any:
        floats = [y for y in parts(f(*xs)) if np.result_type(y).kind == "f"]
        return 0.0 * np.sum(xs[0]) + sum(np.sum(np.cos(y) * y) for y in floats)

    everywhere = tuple(range(len(args)))
    traced = trace(rg.grad(loss, everywhere), xs)
    roots = schedule(traced.outputs, LIBRARY, strategy("default")).after
    for a, b in zip(same(roots, traced.inputs), rg.grad(loss, everywhere)(*args), strict=True):
        assert_close(a, b, 1e-9)


def unknown(name: str, a: Any) -> Any:
    """Return a symbol of an array's type that tells no extent but 1."""
    return rg.symbol(name, [n if n == 1 else None for n in np.shape(a)], np.asarray(a).dtype)


@pytest.mark.parametrize("label", NEED_EXTENTS)
def test_where_extents_must_be_known_the_error_says_so(label: str) -> None:
    f, *args = ROWS[label]
    with pytest.raises((rg.ShapeError, rg.TraceError), match=r"extent|reshape|length|three entries"):
        rg.grad(total(f))(*[unknown(f"x{i}", a) for i, a in enumerate(args)])


# Every op answers every question


@cache
def graphs(whole: bool) -> list[tuple[list[Term], dict[Term, Any]]]:
    """Return the graphs of values, and of all first and second derivatives or of a sample that meets every op."""
    return list(made_graphs(whole))


def made_graphs(whole: bool) -> Iterator[tuple[list[Term], dict[Term, Any]]]:
    for i, (f, *args) in enumerate((*ROWS.values(), *NOT_A_FUNCTION_OF_THE_REALS.values())):
        loss, vs = total(f), directions(tuple(args), 1)
        derivatives = [along_gradient(loss, vs), second(loss, vs)]
        sample = {0: derivatives[1:], 1: derivatives[:1]}
        for g in (lambda *xs, f=f: parts(f(*xs)), *(derivatives if whole else sample.get(i % 4, []))):
            try:
                traced = trace(g, args)
                roots = schedule(traced.outputs, LIBRARY, strategy("default")).after
            except rg.GradientError:
                continue
            yield [*traced.outputs, *roots], dict(zip(traced.inputs, map(np.asarray, args), strict=True))
    for label in (
        "reduced: mean",
        "reduced: argmax",
        "shaped: concatenate",
        "products: diag of a vector",
        "products: diagonal",
    ):
        f, *args = ROWS[label]
        xs = [unknown(f"x{i}", a) for i, a in enumerate(args)]
        traced = trace(rg.grad(lambda *xs, f=f: np.sum(np.exp(f(*xs))), tuple(range(len(xs)))), xs)
        roots = schedule(traced.outputs, LIBRARY, strategy("default")).after
        yield [*traced.outputs, *roots], dict(zip(traced.inputs, map(np.asarray, args), strict=True))


def second(loss: Callable[..., Any], vs: list[Any]) -> Callable[..., Any]:
    return along_gradient(along_gradient(loss, vs), vs)


def machinery(op: Op) -> bool:
    return isinstance(op, (Constant, Input, Known, Pack, Project, Gradient, Pushforward, Anchor, Fails))


@pytest.fixture(scope="module")
def seen() -> dict[Any, tuple[Term, dict[Term, Any]]]:
    """One application of each kind of op that comes up in the table, and the arguments of its graph."""
    found: dict[Any, tuple[Term, dict[Term, Any]]] = {}
    for roots, arguments in graphs(False):
        for node in subterms(*roots):
            if not machinery(node.op) and all(rand.type is not None for rand in node.rands):
                key = node.op if isinstance(node.op, Elementwise) else type(node.op)
                if key not in found and not any(map(is_implicit, subterms(node))):
                    found[key] = (node, arguments)
    return found


def is_implicit(node: Term) -> bool:
    return isinstance(node.op, (Gradient, Pushforward, Anchor, Known))


def all_ops() -> set[Any]:
    """Return every elementwise op that a module of relgrad.ops defines, and every other concrete class."""
    found: set[Any] = set()
    for module in [m for m in vars(relgrad.ops).values() if type(m) is type(relgrad.ops)]:
        for value in vars(module).values():
            if isinstance(value, Elementwise):
                found.add(value)
            elif (
                isinstance(value, type)
                and issubclass(value, Op)
                and value.__module__.startswith("relgrad.ops")
            ):
                concrete = not value.__subclasses__() and not value.__name__.startswith("_")
                found |= {value} if concrete and not issubclass(value, Elementwise) else set()
    return found


def test_the_table_meets_every_op(seen: dict[Any, Any]) -> None:
    assert {str(op) for op in all_ops() - {Fails, Completion, vanishing} - set(seen)} == set()


def test_every_op_answers_every_question(seen: dict[Any, tuple[Term, dict[Term, Any]]]) -> None:
    silent = {str(node.op): questions for node, _ in seen.values() if (questions := list(unanswered(node)))}
    assert silent == {}


def test_logarithms_that_ops_state_are_theirs(seen: dict[Any, tuple[Term, dict[Term, Any]]]) -> None:
    """f = sign(s)·e^l for (s, l) = log_size(f), where f is in the range of floats."""
    met = 0
    for node, arguments in seen.values():
        stated = node.op.log_size(*map(Tracer, node.rands))
        if stated is not None:
            met += 1
            signs, size = (node if part is None else as_term(part) for part in stated)
            with np.errstate(all="ignore"):
                value, signs, size = interpret([node, signs, size], arguments)
            np.testing.assert_allclose(np.sign(signs) * np.exp(size), value, rtol=1e-12)
    assert met >= 7


def unanswered(node: Term) -> Iterator[str]:
    """Yield the questions of the contract that an op leaves open."""
    op, cls = node.op, type(node.op)
    if not isinstance(node.type, (ArrayType, TupleType)):
        yield "output type"
    if cls.perform is Op.perform and cls.compute is Op.compute:
        yield "evaluation"
    try:
        text = op.source(node, [f"x{i}" for i in range(len(node.rands))])
        called = getattr(op, "called", False)  # made for an op when it is needed
        named = text and (not node.rands or any(f"x{i}" in text for i in range(len(node.rands))))
        if not called and not named:
            yield "source"
    except Exception as error:
        yield f"source ({type(error).__name__})"
    if cls.grad is Op.grad and cls.L_op is Op.L_op and op.connected != ():
        yield "pullback"
    if not isinstance(op.range_of(*[Interval()] * len(node.rands)), Interval):
        yield "range"
    if not isinstance(op.laws, Laws):
        yield "laws"
    pattern = op.connection_pattern(node)
    outputs = len(node.type.outputs) if isinstance(node.type, TupleType) else 1
    if [len(row) for row in pattern] != [outputs] * len(node.rands):
        yield "connection pattern"
    if op.make_node(*node.rands) is not node and not isinstance(op, Elementwise):
        yield "make_node of its own operands"


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_types_and_ranges_hold_for_the_values(whole: bool) -> None:
    """Every term of every graph has the dtype, the shape and the range that its op says."""
    for roots, arguments in graphs(whole):
        below: set[Term] = set()
        for t in subterms(*roots):
            if is_implicit(t) or not below.isdisjoint(t.rands):
                below.add(t)
        nodes = [t for t in subterms(*roots) if t not in below]
        with np.errstate(all="ignore"):
            values = dict(zip(nodes, interpret(nodes, arguments), strict=True))
        ranges: dict[Term, Interval] = {}
        for node in nodes:
            kinds = node.type.outputs if isinstance(node.type, TupleType) else (node.type,)
            if isinstance(node.op, Known):
                continue
            for kind, value in zip(
                kinds, parts(values[node]) if len(kinds) > 1 else (values[node],), strict=True
            ):
                array = np.asarray(value)
                assert array.dtype == kind.dtype and array.ndim == kind.ndim, (node, kind, array.dtype)
                assert all(m in (None, n) for m, n in zip(kind.shape, array.shape, strict=True)), (node, kind)
            if len(kinds) == 1 and kinds[0].dtype.kind == "f":
                check_range(node, np.asarray(values[node]), ranges)


def check_range(node: Term, value: np.ndarray, ranges: dict[Term, Interval]) -> None:
    if not node.rands:
        low, high = (value.min(), value.max()) if value.size else (0.0, 0.0)
        ranges[node] = Interval(float(low), float(high))
        return
    if not all(rand in ranges for rand in node.rands):
        ranges[node] = Interval()
        return
    found = node.op.range_of(*[ranges[rand] for rand in node.rands])
    ranges[node] = found
    if value.size and np.isfinite(value).all():
        slack = 1e-5 * (1 + np.abs(value).max())
        assert value.min() >= found.low - slack and value.max() <= found.high + slack, (node, found, value)


def test_vectors_that_complete_a_basis_have_no_gradient() -> None:
    a = np.linspace(0.0, 1.0, 6).reshape(3, 2) + np.eye(3, 2)
    with pytest.raises(rg.GradientError, match="not determined") as error:
        rg.grad(lambda a: np.sum(np.linalg.svd(a)[0]))(a)
    assert "np.eye(len(q)) - q @ q.T" in error.value.cure
