"""In-place operators and assignments write as NumPy's do: aliases and views see it, copies do not."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
import numbers
import operator
import random
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import relgrad as rg
from relgrad.errors import RelgradError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.term import term
from relgrad.trace.containers import flatten
from relgrad.trace.lens import positions, put
from relgrad.trace.trace import trace
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

X = np.array([[0.5, -1.25, 0.75], [1.5, 0.3, -0.4]])
V = np.array([0.2, -0.7, 1.1])
K = np.array([2, 1, 3])


def outcome(fun: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the leaves of what a function computes, traced."""
    traced = trace(fun, args)
    values = dict(zip(traced.inputs, map(np.asarray, flatten((args, {}))[0]), strict=True))
    return interpret(traced.outputs, values)


def agree(fun: Callable[..., Any], *args: Any) -> None:
    """A function answers, traced, what NumPy answers, and it changes none of its arguments."""
    given = copy.deepcopy(args)
    want = flatten(fun(*given))[0]
    for a, b in zip(flatten(given)[0], flatten(args)[0], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(outcome(fun, *args), want, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def refused(fun: Callable[..., Any], *args: Any) -> RelgradError:
    with pytest.raises(RelgradError) as error:
        trace(fun, args)
    assert error.value.cause
    assert error.value.cure
    return error.value


# Aliases


def accumulator(x, v):
    total = np.zeros_like(v)
    seen = total
    for row in x:
        total += row * v
    return total, seen


def momentum(x, v):
    w, m = v.copy(), v * 0
    history = [w]
    for row in x:
        m *= 0.9
        m += row
        w -= 0.1 * m
        history.append(w)
    return w, m, history


def through_a_view(x, v):
    y = x.copy()
    y.T[1] = 7.0
    z = y.T
    z *= 2
    y[0] += v
    return y, z


def rows(x, v):
    y = x + 0
    for i, row in enumerate(y):
        row -= i * row.mean()
    a, b = y
    a *= 3
    b[0] = a[1]
    return y, a, b


def swapped(x, v):
    y, z = x.copy(), v.copy()
    y[0], y[1] = y[1], y[0]  # the rows are views: NumPy loses one
    z[0], z[1] = z[1], z[0]  # the entries are numbers
    p, q = y, z
    p, q = q, p
    p += 1
    return y, z, p, q


def recurrence(x, v):
    y = v.copy()
    for i in range(1, len(y)):
        y[i] = np.sin(y[i - 1]) + y[i]
    y[y > 0.5] = 0.25
    y[[0, 2]] *= 2
    return y


def helper(y):
    y *= 2
    return y[1:]


def called(x, v):
    y = v.copy()
    z = helper(y)
    z += 1
    return y, z


def transformed(x, v):
    y = v.copy()
    z = (rg.stabilize(helper) if isinstance(v, Tracer) else helper)(y)
    z += 1
    return y, z


def outputs(x, v):
    y, z = x.copy(), np.empty_like(v)
    np.add(v, 1, out=z)
    np.multiply(y, z, y)
    np.maximum(0.5, 0.25, out=z[:1])
    np.divmod(y[0], 0.3, out=(y[1], z))
    np.add.reduce(x, axis=0, out=y[0])
    np.copyto(y[1], v)
    np.copyto(y[:, 0], 0.5, where=y[:, 0] > 0)
    z[1:].fill(2)
    return y, z


@pytest.mark.parametrize(
    "fun", [accumulator, momentum, through_a_view, rows, swapped, recurrence, called, transformed, outputs]
)
def test_programs_that_write(fun):
    agree(fun, X, V)
    agree(fun, np.asfortranarray(X), V[::-1])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fun", [accumulator, momentum, through_a_view, rows, swapped, recurrence])
def test_gradients_through_writes(fun):
    def cost(x, v):
        return sum(np.sum(np.tanh(y) * (i + 1)) for i, y in enumerate(flatten(fun(x, v))[0]))

    found = rg.grad(cost, argnums=(0, 1))(X, V)
    for i, g in enumerate(found):
        for k in np.ndindex(g.shape):
            step = np.zeros(g.shape)
            step[k] = 1e-6
            moved = [[a + s * step if j == i else a for j, a in enumerate((X, V))] for s in (1, -1)]
            assert g[k] == pytest.approx((cost(*moved[0]) - cost(*moved[1])) / 2e-6, rel=1e-6, abs=1e-8)


def test_writing_is_rewriting_it_functionally():
    def written(x):
        y = x.copy()
        y[1:] -= y[:-1]
        y *= y
        return y.sum()

    def functional(x):
        y = np.concatenate([x[:1], x[1:] - x[:-1]])
        return (y * y).sum()

    np.testing.assert_array_equal(rg.grad(written)(V), rg.grad(functional)(V))
    np.testing.assert_array_equal(rg.hessian(written)(V), rg.hessian(functional)(V))


# Rules


@pytest.mark.parametrize(
    ("fun", "error"),
    [
        (lambda k: k.__iadd__(0.5), TypeError),
        (lambda k: k.__itruediv__(2), TypeError),
        (lambda k: k.__iadd__(np.ones((2, 3), int)), ValueError),
        (lambda k: k[:1].__imul__(k), ValueError),
        (lambda k: np.add(k, 0.5, out=k), TypeError),
        (lambda k: k.__setitem__(slice(2), k), ValueError),
        (lambda k: k.__setitem__(5, 1), ValueError),
        (lambda k: np.broadcast_to(k, (2, 3)).__iadd__(1), (TypeError, ValueError)),
        (lambda k: np.diag(np.outer(k, k)).__iadd__(1), (TypeError, ValueError)),
        (lambda k: k.imag.__iadd__(1), (TypeError, ValueError)),
        (lambda k: operator.setitem(k.sum(), (), 1), TypeError),
    ],
)
def test_what_numpy_refuses_is_refused(fun, error):
    def program(k):
        k = k.copy()
        fun(k)
        return k

    with pytest.raises((TypeError, ValueError, IndexError)):
        program(K)
    with pytest.raises(error):
        trace(program, (K,))


def test_the_dtype_of_what_is_written_to_stays():
    def program(x, k):
        y, z, b = x.astype(np.float32), k.copy(), k > 1
        y += x
        z[0] = 1.75
        z *= 2
        z[1:] += z[:-1] > 3
        b[1] = 0.5
        b |= False
        return y, z, b

    agree(program, X, K)


def test_numbers_are_not_written_to_and_arrays_of_rank_0_are():
    def program(z, s, v):
        total = v.sum()
        first = total
        total += 1
        s *= 2
        z = z.copy()
        same = z
        z += 1
        entry = v.copy()[1, ...]
        other = entry
        entry += 1
        chosen = np.where(total > 0, total, 0.0)
        kept = chosen
        chosen += 1
        return first, total, s, z, same, entry, other, chosen, kept

    agree(program, np.array(0.75), 1.5, V)


def test_arguments_are_not_changed():
    for fun in (lambda x: x.__iadd__(1), lambda x: x[0].__imul__(2), lambda x: x.ravel().__imul__(2)):
        for transformed in (rg.stabilize(fun), rg.grad(lambda x, fun=fun: np.sum(fun(x)))):
            x = X.copy()
            with pytest.raises(TraceError, match="changed in place") as error:
                transformed(x)
            assert "the caller's array" in error.value.cause
            assert "x = x.copy()" in error.value.cure
            np.testing.assert_array_equal(x, X)
    assert rg.stabilize(lambda x: x.__iadd__(1))(1.5) == 2.5


def test_a_view_or_a_copy_depending_on_the_layout_is_refused():
    def program(x):
        y = x * 2
        z = y.ravel()
        z += 1
        return y if x.ndim == 2 else z

    assert "layout of memory" in (error := refused(program, X)).cause
    assert ".copy()" in error.cure
    refused(lambda x: [y := x * 2, z := y.reshape(3, 2), y.__iadd__(1), z][-1], X)

    def fine(x):
        z = (x * 2).ravel()
        part = z[1:]
        z += 1
        part *= 2
        y = x[0].copy()
        column = y.reshape(-1, 1)
        column += y[::-1, None]
        return z, part, y

    agree(fine, X)


@pytest.mark.parametrize(
    "view", ["[..., 1]", "[1]", "[::2]", "[:, :2]", ".T", "[0].T", "[:, None, :, 0]", "[:1]"]
)
@pytest.mark.parametrize(
    "flat", ["ravel()", "ravel('F')", "reshape(-1)", "reshape(-1, 1)", "reshape(-1, order='F')"]
)
def test_reshaping_shares_memory_as_numpy_does_where_memory_is_known(view, flat):
    """Of what was made while tracing the layout is known, and so is that of its views: nothing is refused."""

    def write(x):
        y = (2 * x).copy()
        z = eval(f"y{view}.{flat}")
        z[1] = 7 * x[0, 0, 0]
        w = z[::2].reshape(-1)
        w[0] = 9.0
        return np.concatenate([y.ravel(), z.ravel(), w])

    x = np.arange(1.0, 28.0).reshape(3, 3, 3)
    np.testing.assert_array_equal(rg.stabilize(write)(x), write(x))


@pytest.mark.parametrize("view", ["", ".T", "[:, 1]", "[0].T", "[::2]"])
def test_entries_row_by_row_are_written_to_whatever_the_layout(view):
    """x.flat[1:] is a copy, and x.flat[1:] = v writes: of arguments that were copied, too."""

    def write(x):
        y = np.array(x)
        z = eval(f"y{view}")
        z.flat[1:] += z.flat[:-1]
        z.flat[::3] *= 2
        z.flat[[0, 2]] = z.flat[[2, 0]]
        part = z.flat[1:]
        part[0] = 9.0
        entries = z.flat
        entries[-1] = x[0, 0, 0]
        z[0] += 1
        return y, z, part, np.array(entries), sum(y.flat)

    x = np.arange(1.0, 28.0).reshape(3, 3, 3)
    for found, expected in zip(rg.stabilize(write)(x), write(x), strict=True):
        np.testing.assert_array_equal(found, expected)


IN_ORDER: dict[str, Callable[[Any], Any]] = {
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "asarray": lambda y: np.asarray(y, order="C"),
    "array": lambda y: np.array(y, copy=None, order="F"),
    "astype": lambda y: y.astype(float, order="C", copy=False),
    "astype by position": lambda y: y.astype(float, "K", "unsafe", True, False),
    "require": lambda y: np.require(y, requirements="C"),
    "a copy, raveled": lambda y: np.array(y).ravel(),
    "copied, raveled": lambda y: copy.copy(y).ravel(),
    "a copy of it": lambda y: np.ascontiguousarray(np.copy(y)),
}


@pytest.mark.parametrize("view", [".T", "", "[::-1]", "[:, 0]", "[:, ::-1].T", "[:1]"])
@pytest.mark.parametrize("convert", IN_ORDER.values(), ids=IN_ORDER)
@pytest.mark.parametrize("backwards", [False, True])
def test_what_is_brought_into_an_order_is_copied_where_numpy_does(view, convert, backwards):
    def program(x):
        y = x[0].copy()
        a = eval("y.reshape(3, -1)" + view)
        b = convert(a)
        if backwards:
            b[0] = 7.0
        else:
            a[0] = 7.0
        return y, a, b

    agree(program, np.arange(24.0).reshape(2, 12))


def test_the_order_of_what_lies_somehow_is_refused():
    def program(x):
        y = np.outer(x[0], x[0])
        z = np.ascontiguousarray(y.T)
        y[0] = 7.0
        return z + 0

    assert "layout of memory" in refused(program, X).cause


def test_views_at_axes_that_are_known_are_written_to():
    """NumPy's own code asks `np.transpose` for axes that it makes with `np.arange`; so does a user's."""

    def program(x):
        y, made = x * 2, np.zeros((2, 3))
        np.rot90(y)[0] = x[0, 0]
        np.rot90(made)[1] = x[0, 1]
        np.transpose(y, np.array([1, 0]))[2] += 1.0
        np.flip(y, np.arange(2)[1])[0, 0] = x[1, 1]
        return y, made

    agree(program, X)


def test_the_real_part_is_written_to():
    def program(x):
        y = x * 2
        y.real = x[0, 0]
        return y

    agree(program, X)


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_plain_array_that_changes_while_it_is_traced_is_not_mistaken(size):
    outer = np.zeros(size)

    def program(x):
        a = outer.copy()
        y = x.sum() + a
        a += 1
        z = x.sum() + a
        return y[0], z[0]

    if size == 3:
        agree(program, V)
    else:
        assert "copy it" in refused(program, V).cure

    def fine(x):
        a = np.zeros(size)
        a += 1
        return (x.sum() + a)[0]

    agree(fine, V)


def test_arrays_say_whether_they_share_memory():
    def program(x):
        y = x.copy()
        assert np.shares_memory(y, y.T)
        assert np.may_share_memory(y[0], y)
        assert not np.shares_memory(y, x)
        assert not np.shares_memory(y[0], x[0])
        return y

    trace(program, (X,))
    refused(lambda x: [x, np.shares_memory(x[0], x[1])], X)
    refused(lambda x: [x, np.shares_memory(x.ravel(), x)], X)
    refused(lambda x: [x, np.shares_memory(x.ravel()[1:], x[0])], X)


def test_positions_that_depend_on_values_are_decided():
    def program(v, k):
        y = v.copy()
        y[k[0]] = 1
        y[k[1:]] += v[0]
        return y

    agree(program, V, K - 1)
    refused(lambda v: [y := v.copy(), y.__setitem__(y > 9, y[:2])][0], V)
    y = rg.symbol("y", 3).copy()
    with pytest.raises(TraceError, match="positions"):
        y[rg.symbol("i", (), int)] = 1.0


def test_symbols_of_unknown_extents_are_written_to_as_a_whole():
    x = rg.symbol("x", shape=(None, 3))
    y = x
    y *= 2.0
    assert x is y
    with pytest.raises(TraceError, match="cannot be written to"):
        x[0] = 1.0


def test_views_of_views_may_be_many():
    def program(v):
        y = v * 1
        z = y
        for _ in range(3000):
            z = z[::-1]
        y[0] = 7.0
        z += 1
        return y, z

    agree(program, V)


# Laws

VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x[1],
    lambda x: x[:, 1],
    lambda x: x[:, ::2],
    lambda x: x[::-1, 1:],
    lambda x: x[-1:, ::-2],
    lambda x: x[1, 2, ...],
    lambda x: x[..., None, 0],
    lambda x: x[:0],
    lambda x: x.T,
    lambda x: x.T[1:, ::-1],
    lambda x: np.flip(x),
    lambda x: x[None].swapaxes(0, 2),
    lambda x: x.reshape(3, 2),
    lambda x: x.reshape(-1)[::4],
    lambda x: np.einsum("ii->i", x[:, :2]),
    lambda x: np.array_split(x, 2, axis=1)[1],
]


@pytest.mark.parametrize("view", VIEWS)
def test_writing_into_a_view_obeys_the_laws_of_lenses(view):
    x, want = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    y = 10 + np.arange(float(view(x).size)).reshape(view(x).shape)
    inputs = {term(Input(n, array_type(float, a.shape))): a for n, a in (("x", x), ("y", y))}
    a, b = inputs
    (first, again, kept) = interpret(
        [
            put(a, view, b),
            put(put(a, view, (-Tracer(b)).term), view, b),
            put(a, view, as_term(view(x))),
        ],
        inputs,
    )
    view(want)[...] = y
    np.testing.assert_array_equal(first, want)
    np.testing.assert_array_equal(view(np.asarray(first)), y)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(kept, x)
    assert positions(x.shape)[1, 2] == 5


OPTIONS: dict[Any, tuple[Any, ...]] = {
    "reshape": ((3, 2),), np.reshape: ((3, 2),), "swapaxes": (0, 1), np.swapaxes: (0, 1), np.moveaxis: (0, 1),
    np.rollaxis: (1,), np.expand_dims: (0,), np.broadcast_to: ((2, 2, 3),), np.full_like: (1.0,),
    "__getitem__": (slice(1),), "take": ([0, 1],), np.take: ([0, 1],), "astype": (float,), np.roll: (1,),
    np.tile: (1,), np.repeat: (1,), "repeat": (1,), np.pad: (0,), np.split: (1,), np.array_split: (2,),
    np.vsplit: (1,), np.hsplit: (1,), np.append: ([[1.0, 2.0, 3.0]], 0), np.where: (1.0, 2.0), np.clip: (0, 1),
    "clip": (0, 1), np.diff: (0,), np.linalg.matrix_power: (1,), np.kron: (1.0,), np.outer: (1.0,),
    np.partition: (1,), np.argpartition: (1,), "argpartition": (1,), np.searchsorted: (0.5,), np.quantile: (0.3,),
    "searchsorted": (0.5,), np.percentile: (30.0,), np.digitize: ([0.5],),
    np.bincount: ([0.5, 0.25, 1.0, 2.0],), np.choose: ([1.0, 2.0],), np.interp: ([0.0, 1.0], [2.0, 3.0]),
    "choose": ([1.0, 2.0],), np.polyval: (0.5,), np.isclose: (0.5,), np.compress: (X,), "compress": ([True, False],),
    np.extract: (X,), np.delete: (0,), np.insert: (0, 1.0), np.lib.stride_tricks.sliding_window_view: (1,),
    np.astype: (float,), np.inner: (1.0,), np.tensordot: (1.0, 0), np.dot: (1.0,), "dot": (1.0,),
}  # fmt: skip
"""What functions need beside an array of shape (2, 3)."""


def name_of(function: Any) -> str:
    return function if isinstance(function, str) else function.__name__


FUNCTIONS = [f for f in IMPLEMENTATIONS if f is not np.empty_like and not isinstance(f, tuple)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
@pytest.mark.parametrize("array", [X, X[:, :2], V, np.array(0.75), np.float64(0.75)])
def test_results_share_memory_as_those_of_numpy_do(function, array):
    """After a write into the argument, and into the result, both are what they are in NumPy."""

    def program(x):
        x = x.copy()
        if isinstance(function, str):
            y = getattr(x, function)(*OPTIONS.get(function, ()))
        else:
            y = function(x, *OPTIONS.get(function, ()))
        y = y[0] if isinstance(y, (tuple, list)) else y
        x += 2
        before = y * 1
        y += 3
        return x, before, y

    with np.errstate(all="ignore"):
        try:
            want = program(array)
        except Exception:
            return  # not a function of such an array, or its result is read only
        if not all(
            isinstance(x, (np.ndarray, np.generic)) and np.asarray(x).dtype.kind in "biuf" for x in want
        ):
            return
        try:
            got = outcome(program, array)
        except (TypeError, ValueError):
            return
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


# Classes


def test_a_traced_argument_is_an_instance_of_what_the_argument_is():
    classes = (
        np.ndarray,
        np.generic,
        np.floating,
        np.float64,
        float,
        int,
        bool,
        numbers.Real,
        numbers.Number,
    )
    values = (X, X[0], np.array(0.5), 1.5, 2, True, np.float32(1.5), np.int8(2), K)
    seen = []

    def program(*args):
        for x, y in zip(args, values, strict=True):
            for cls in classes:
                seen.append((isinstance(x, cls), isinstance(y, cls)))
            seen.append((np.isscalar(x), np.isscalar(y)))
            seen.append((np.ndim(x), np.ndim(y)))
            seen.append((np.shape(x), np.shape(y)))
        array, number = args[0], args[0].sum()
        seen.append((isinstance(array * 2, np.ndarray), True))
        seen.append((isinstance(number, np.ndarray), False))
        seen.append((isinstance(number, float), True))
        seen.append((np.isscalar(args[1][0]), True))
        match args[3]:
            case float():
                return args[3] * 1.0
        return None

    trace(program, values)
    assert [got for got, _ in seen] == [want for _, want in seen]


def test_a_number_and_an_array_of_rank_0_have_programs_of_their_own():
    f = rg.stabilize(lambda x: x * 2.0 if isinstance(x, np.ndarray) else x * 3.0)
    assert [f(np.array(1.0)), f(np.float64(1.0)), f(1.0)] == [2.0, 3.0, 3.0]


# Refusals that are caught


OUTER = np.zeros(1)


def caught(convert: Callable[[Any], Any], otherwise: Any = 0.0) -> Callable[..., Any]:
    def program(x):
        try:
            y = convert(x)
        except Exception:
            y = otherwise
        return x * 2 + y

    return program


@pytest.mark.parametrize(
    "convert",
    [
        *(float, complex, lambda x: float(f"{x:.2f}"), lambda x: np.fft.fft([x])[0]),
        *(lambda x: np.add(x, 1, where=np.array(True)), lambda x: OUTER.__setitem__(0, x) or 1.0),
    ],
)
def test_a_refusal_that_is_caught_ends_the_trace(convert):
    with pytest.raises(TraceError):
        trace(caught(convert), (1.5,))
    with pytest.raises(TraceError), contextlib.suppress(ZeroDivisionError):
        rg.grad(caught(convert))(1.5)


@pytest.mark.parametrize(
    "convert",
    [
        *(float, int, bool, lambda x: range(x), hash, lambda x: x.no_such_attribute, lambda x: f"{x:.2f}"),
        *(lambda x: [1, 2][x], lambda x: {x: 1}, lambda x: x.values.sum(), lambda x: x @ np.ones(7)),
    ],
)
def test_what_numpy_raises_too_may_be_caught(convert):
    agree(caught(convert), V)


def test_probing_is_harmless():
    def program(x):
        assert not hasattr(x, "values")
        assert not hasattr(x, "columns")
        assert not isinstance(x, (str, dict, list, tuple, Mapping))
        assert callable(getattr(x, "sum", None))
        with contextlib.suppress(TypeError):
            return functools.cache(lambda y: y)(x)
        return x + 1

    agree(program, V)


# Random programs

STATEMENTS = (
    """
T = A.copy()|T = A + 0|T = np.zeros_like(A)|T = np.sin(A)|T = A * B|T = A[[1, 0]]|T = A.astype(float, copy=False)
T = np.where(A > 0.3, A, B)|T = np.stack([A, A])|T = A.flatten()|T = A @ B|T = copy.copy(A)|T = A.sum(0)|T = A[-1]
T = A.T|T = A[1:]|T = A[::-1]|T = A[0]|T = A[...]|T = A[:, None]|T = A[:, 1]|T = A[1:, ::-1]|T = A[0, ...]|T = A[()]
T = A.reshape(-1)|T = A.reshape(-1, 1)|T = A.ravel()|T = np.swapaxes(A, 0, -1)|T = np.squeeze(A)|T = A[..., 1:2]
T = np.atleast_2d(A)|T = np.broadcast_to(A, (2, *np.shape(A)))|T = np.flip(A)|T = A.real|T = np.split(A, 1)[0]
T = np.moveaxis(A, 0, -1)|T = A.conj()|T = np.diag(A)|T = np.einsum("ij->ji", A)|T = A.imag|T = A[-1:0:-1]|T = A
A += B|A *= B|A -= A[::-1]|A *= A.T|A **= 2|A //= 0.7|A /= 2.0|A += np.sin(B)|A += 1|A @= B|A *= B.sum()|A += 0.5
A[0] += B|A[1:] *= 2|A[:, 0] -= B|A[::2] += A[0]|A[-1] /= 3|A[[0, 1]] += B|A[..., ::-1] += A|A[0, 1] += 1
A[0] = B|A[1:] = A[:-1]|A[::2] = B|A[...] = B|A[0, 1] = B[0]|A[:, 0] = B.sum()|A[1, ::-1] = B|A[[1, 1]] = A
A[None] = B|A[A > 0.2] = B.mean()|A[A[..., 0] > 0] = 1|A[[0], [1]] = 2|A[-2:] = [0.1, 0.2, 0.3]|A[0, ...] = B[0]
for i in range(1, len(A)): A[i] = 0.5 * A[i - 1] + A[i]|for i in range(len(A)): A[i], A[i - 1] = A[i - 1], A[i]
for q in A: q += 1|for q in A: q *= B|for q, r in zip(A, B): q += r|for q in A.T: q /= 2|for q in A: q[0] = q[1]
A, B = B, A|A[:1], B[:1] = B[:1], A[:1]|T, U = A|T = A.sum(); U = T; T += 1|T = list(A); T[0] *= 3; T = T[0]
np.add(A, B, out=B)|T = np.multiply(A, 2.0, out=A)|np.sin(A, A)|T = np.subtract(A, B, out=B[::-1])|helper(A)
T = helper(A.copy())|T = A * 0; U = A.copy(); T *= 0.9; T += U; U -= 0.1 * T|T = 0.0; T += A; T += B; U = T; U += A
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


def random_program(rng: random.Random, length: int) -> str:
    names, lines = ["x", "v", "s", "z", "k"], []
    if rng.random() < 0.9:
        lines.append("x, v, z, k = x.copy(), v + 0, z.copy(), k.copy()")
    for i in range(length):
        recent = names[-6:]
        a, b = rng.choice(recent), rng.choice(names)
        chosen = {"A": a, "B": b, "T": f"t{i}", "U": f"u{i}"}
        parts = re.split(r"(?<!\.)\b([ABTU])\b", rng.choice(STATEMENTS))
        statement = "".join([chosen.get(part, part) for part in parts])
        lines.append(statement)
        names += [n for n in (f"t{i}", f"u{i}") if n in statement]
    return "\n".join(lines)


def compiled(lines: list[str]) -> Callable[..., Any]:
    names: dict[str, Any] = {"np": np, "copy": copy, "helper": helper}
    body = "\n".join([f"    {line}" for line in lines])
    result = "{n: y for n, y in locals().items() if n[0] in 'xvszktu'}"
    exec(f"def program(x, v, s, z, k):\n{body}\n    return {result}", names)
    return names["program"]


def runnable(text: str, args: list[Any]) -> Callable[..., Any] | None:
    """Return a program without the statements that NumPy raises at; None if it changes its arguments."""
    lines: list[str] = []
    for line in text.splitlines():
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            values = compiled([*lines, line])(*copy.deepcopy(args)).values()
            if all(np.all(np.abs(y) < 1e6) for y in values):
                lines.append(line)
    given = copy.deepcopy(args)
    with np.errstate(all="ignore"):
        compiled(lines)(*given)
    changed = any(not np.array_equal(a, b) for a, b in zip(given, args, strict=True))
    return None if changed else compiled(lines)


def arguments() -> list[Any]:
    return [X.copy(), V.copy(), 0.6, np.array(0.9), K.copy()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_write_as_numpy_does(seed):
    rng = random.Random(seed)
    verdicts: collections.Counter[str] = collections.Counter()
    for _ in range(25):
        text = random_program(rng, rng.randint(2, 9))
        fun = runnable(text, arguments())
        if fun is None:
            continue
        try:
            with np.errstate(all="ignore"):
                traced = trace(fun, arguments())
        except RelgradError as error:
            assert error.cure
            verdicts["refused"] += 1
            continue
        for layout in ("C", "F"):
            args = arguments()
            args[0] = np.array(args[0], order=layout)
            values = dict(zip(traced.inputs, map(np.asarray, args), strict=True))
            with np.errstate(all="ignore"):
                got = traced.out_structure.unflatten(interpret(traced.outputs, values))
                want = fun(*copy.deepcopy(args))
            for name, y in want.items():
                assert np.asarray(got[name]).dtype == np.asarray(y).dtype, text
                np.testing.assert_allclose(got[name], y, rtol=1e-9, atol=1e-9, err_msg=text)
        verdicts["agrees"] += 1
    assert verdicts["agrees"] >= 3 * verdicts["refused"]
    assert verdicts["agrees"] >= 10


def test_what_answers_with_its_argument_does_so_after_a_constant_was_written():
    """`x.astype(x.dtype, copy=False)` and `x.conj()` are x itself, whatever was written to x before."""

    def f(x):
        v = np.array([-0.75, 0.5, 1.0])
        v[::-1] = v
        w, u = v.astype(float, copy=False), v.conj()
        w[0] = x
        u[1] = 2 * x
        return v, w, u

    for got, want in zip(rg.stabilize(f)(7.0), f(7.0), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_writing_along_an_axis_or_none(axis):
    """np.array(x.flat), into which NumPy writes where no axis is given, is a view of x."""
    places = np.array([3, 0]) if axis is None else np.array([[1, 0]] if axis else [[1], [0]])

    def f(x, v):
        y = 2 * x
        np.put_along_axis(y, places, v, axis)
        return y

    x = np.array([[0.3, 1.2], [-0.5, 0.7]])
    for v in (np.float64(5.0), np.array([5.0])):
        np.testing.assert_array_equal(rg.stabilize(f)(x, v), f(x, v))
        slope = rg.grad(lambda x, v: np.sum(f(x, v)))(x, v)
        np.testing.assert_array_equal(slope, np.where(f(x, v) == 5, 0, 2))


@pytest.mark.parametrize("shuffle", [np.random.default_rng(1).shuffle, np.random.RandomState(1).shuffle])
def test_rows_are_swapped_by_python_only(shuffle):
    """NumPy shuffles rows of its arrays through a buffer: swapped as views, one of them would be lost."""

    def f(x):
        y = x.copy()
        shuffle(y)
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of what is no Sequence
        with pytest.raises(rg.TraceError, match="draw positions"):
            rg.stabilize(f)(np.arange(12.0).reshape(6, 2))
        assert sorted(rg.stabilize(f)(np.arange(6.0))) == list(range(6))

    def swapped(x):
        y = x.copy()
        y[0], y[1] = y[1], y[0]
        y[0] *= 2
        return y

    x = np.arange(4.0).reshape(2, 2)
    np.testing.assert_array_equal(rg.stabilize(swapped)(x), swapped(x))
