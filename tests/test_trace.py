"""Tracing: a traced function computes what the function computes; arguments, results, names and keys."""

from __future__ import annotations

import fractions
import functools
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest
from counting import calls

import relgrad as rg
from relgrad.errors import TraceError
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import is_constant
from relgrad.term import subterms, term
from relgrad.trace.containers import flatten
from relgrad.trace.trace import Traced, arrays, has_tracer, signature, trace
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

X = np.array([0.5, -1.25, 2.0])
A = np.arange(6.0).reshape(2, 3) / 4


def run(traced: Traced, *args: Any, **kwargs: Any) -> Any:
    values = dict(zip(traced.inputs, arrays(args, kwargs), strict=True))
    return traced.out_structure.unflatten(interpret(traced.outputs, values))


def agree(fun: Any, *args: Any, **kwargs: Any) -> Traced:
    """The law: to trace and then to interpret is to call."""
    traced = trace(fun, args, kwargs)
    got, want = run(traced, *args, **kwargs), fun(*args, **kwargs)
    (left, one), (right, two) = flatten(got), flatten(want)
    assert one == two
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
        assert np.shape(a) == np.shape(b)
        if isinstance(b, (np.ndarray, np.generic)):
            assert np.asarray(a).dtype == b.dtype
    return traced


def labels(traced: Traced) -> list[str]:
    return [t.op.label for t in traced.inputs]


class Params(NamedTuple):
    W: Any
    b: Any


@dataclass
class Model:
    params: dict[str, Any]
    activation: str

    def __call__(self, x):
        h = x @ self.params["W"].T + self.params["b"]
        return np.tanh(h) if self.activation == "tanh" else np.maximum(h, 0)


def test_containers_go_in_and_come_out():
    def affine(p, x, *, scale):
        return {"y": scale * (p.W @ x + p.b), "parts": [p.b, (x, None)], "one": 1.0, "table": A}

    traced = agree(affine, Params(A, np.ones(2)), X, scale=2.0)
    assert traced.paths == ("p.W", "p.b", "x", "scale")
    assert labels(traced) == ["p_W", "p_b", "x", "scale"]
    assert len(traced.outputs) == 5
    assert is_constant(traced.outputs[traced.out_structure.paths("r").index("r['table']")])


def test_dataclass_with_a_static_field():
    model = Model({"W": A, "b": np.ones(2)}, "tanh")
    traced = agree(lambda model, x: model(x), model, X)
    assert traced.statics == [("arguments[0][0].activation", "tanh")]
    other = Model(model.params, "relu")
    assert signature((model, X)) != signature((other, X))
    agree(lambda model, x: model(x), other, X)


def test_order_of_keys_and_keyword_arguments():
    def in_order(d):
        return np.stack(list(d.values()))

    agree(in_order, {"b": 1.0, "a": 2.0})
    agree(in_order, {"a": 1.0, "b": 2.0})
    agree(lambda **kw: np.stack(list(kw.values())), z=1.0, a=2.0)
    assert signature(({"b": 1.0, "a": 2.0},)) != signature(({"a": 1.0, "b": 2.0},))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "float64"),
        (3, "int64"),
        (True, "bool"),
        (np.float32(1.5), "float32"),
        (np.int8(3), "int8"),
        (np.bool_(True), "bool"),
        (np.ones(2, "float32"), "float32"),
        (np.ones(2, "uint8"), "uint8"),
        (np.ones(2, ">f8"), "float64"),
        (np.ones(2, "float16"), "float16"),
    ],
)
def test_dtypes_of_arguments(value, dtype):
    traced = trace(lambda x: x, (value,))
    assert traced.inputs[0].type == array_type(dtype, np.shape(value))
    assert traced.outputs == traced.inputs


def test_float32_gives_way_only_to_strong_dtypes():
    x = X.astype(np.float32)
    for fun in (
        lambda x: 2.5 * x + 1,
        lambda x: x**2 / 3.0 - 1 / x,
        lambda x: np.float32(2) * x,
        lambda x: np.where(x > 0, x, 0.0),
        lambda x: np.maximum(x, 0.0) * np.pi,
    ):
        assert agree(fun, x).outputs[0].type.dtype == np.float32
    for fun in (lambda x: np.float64(2) * x, lambda x: x + np.ones(3), lambda x: x + np.array(1.0)):
        assert agree(fun, x).outputs[0].type.dtype == np.float64


def test_closures_loops_and_python_control_flow():
    table = np.linspace(0, 1, 3)

    def program(x, n_static=4):
        total = 0.0
        for i in range(n_static):
            total = total + x[i % 3] * table**i
        for row, weight in zip(A, (1.0, 2.0), strict=True):
            total += weight * (row @ x)
        if x.ndim == 1 and len(x) == 3:
            total -= x
        return total

    agree(program, X)
    agree(functools.partial(program, n_static=2), X)


def test_iteration_and_unpacking():
    agree(lambda m: [r * 2 for r in m], A)

    def unpack(m):
        (a, b, c), second = m
        first, *rest = second
        return a * first + c - b, rest

    agree(unpack, A)
    agree(lambda x: sum(x), X)
    agree(lambda x: np.stack([v * 2 for v in reversed(list(x))]), X)
    agree(lambda m: [np.sum(r) for r in zip(*m, strict=True)] if False else list(m.T), A)


def test_methods_of_ufuncs_take_lists_of_arrays():
    agree(lambda x: np.maximum.reduce([x, 3 - x, x * x]), X)
    agree(lambda x: np.logaddexp.reduce((x, 2 * x), axis=0), X)
    agree(lambda x: np.logical_and.reduce([x > 0, x < 1.5]), X)
    agree(lambda x: np.add.outer([x[0], 1.0], [x[1], x[0]]), X)
    agree(lambda x: np.multiply.accumulate([x[0], x[1], 2.0]), X)
    agree(lambda x: np.add.reduce([[x[0], 1], [2, x[1]]], axis=(0, 1)), X)


def test_results_that_are_inputs_or_constants():
    agree(lambda x: x, X)
    agree(lambda x: (x, 2.0, np.float32(3), np.arange(3), True), X)
    traced = trace(lambda: {"a": np.ones(2)}, ())
    assert traced.inputs == ()
    assert len(traced.outputs) == 1


def test_large_constants_are_held_not_copied():
    table = np.ones(100_000)
    (output,) = trace(lambda x: table, (1.0,)).outputs
    assert output.op.value is table


def test_equal_traces_are_equal_terms():
    def fun(x, y):
        return np.exp(x) * y

    one, two = trace(fun, (X, 2.0)), trace(fun, (X + 1, 3.0))
    assert one == two
    assert one.outputs[0] is two.outputs[0]


def test_names_are_distinct_identifiers():
    def fun(p, *xs, **options):
        return p["a"]["b"] + p["a_b"] + xs[0] + options["np"]

    traced = trace(fun, ({"a": {"b": 1.0}, "a_b": 2.0, "0 x": 3.0}, 4.0), {"np": 5.0})
    assert traced.paths == ("p['0 x']", "p['a']['b']", "p['a_b']", "xs[0]", "np")
    names = labels(traced)
    assert names == ["p_0_x", "p_a_b", "p_a_b_2", "xs_0", "np_"]
    assert all(name.isidentifier() for name in names)
    assert labels(trace(np.add, (1.0, 2.0)))[0].isidentifier()
    assert labels(trace(lambda θ: θ, (1.0,))) == ["θ"]


def test_a_trace_inside_a_trace_has_inputs_of_its_own():
    inner_traces = []

    def outer(x):
        inner = trace(lambda x_, x=x: x_ * x, (X,))
        same_name = trace(lambda x: x * outer_x[0], (X,))
        inner_traces.extend((inner, same_name))
        return x

    outer_x: list[Any] = []

    def program(x):
        outer_x.append(x)
        return outer(x)

    traced = trace(program, (X,))
    for inner in inner_traces:
        assert inner.inputs[0] is not traced.inputs[0]
        assert [t.op.label for t in inner.free()] == [t.op.label for t in traced.inputs] == ["x"]
    assert traced.free() == ()


def test_tracers_among_the_arguments_become_fresh_inputs():
    x = Tracer(term(Input("x", array_type("float32", (None, 3)))))
    assert has_tracer((x,))
    assert has_tracer((1.0, {"a": [x]}))
    assert has_tracer((), {"k": x})
    assert not has_tracer((X, 1.0, {"a": [X]}), {"k": 2})
    assert not has_tracer((X, X))
    traced = trace(lambda y: y * 2, (x,))
    assert traced.inputs[0].type == array_type("float32", (None, 3))
    assert traced.inputs[0] is not x.term
    assert signature((x,)) == signature((x,)) != signature((X,))


def test_errors_of_the_function_come_out_unchanged():
    class Mine(Exception):
        pass

    def fails(x):
        raise Mine("as it is")

    with pytest.raises(Mine, match="as it is"):
        trace(fails, (X,))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        trace(lambda x, y: x, (X,))


# Signatures


def test_signatures_tell_what_tracing_tells():
    def same(a, b):
        return signature(*a) == signature(*b) and hash(signature(*a)) == hash(signature(*b))

    assert same(((X, 1.0),), ((X + 1, 2.0),))
    assert same((({"a": X},), {"k": 1}), (({"a": X * 2},), {"k": 2}))
    for a, b in [
        ((X,), (X[:2],)),
        ((X,), (X.astype("float32"),)),
        ((X,), (X[:, None],)),
        ((1.0,), (1,)),
        ((1,), (True,)),
        ((1.0,), (np.float32(1),)),
        ((X, X), (X,)),
        (([X],), ((X,),)),
        (("tanh", X), ("relu", X)),
        ((None, X), (X, None)),
        (([1.0, 2.0],), ([1.0],)),
    ]:
        assert not same((a,), (b,)), (a, b)
    assert not same(((X,),), ((), {"x": X}))


def test_signatures_are_cheap():
    args = (X, A)
    assert calls(lambda: signature(args)) <= 2  # the lambda, and nothing but the function itself


def test_arrays_are_the_leaves_in_the_order_of_the_inputs():
    leaves = arrays(({"b": 1, "a": X},), {"k": True})
    assert leaves[0] is X
    assert [a.dtype for a in leaves[1:]] == [np.dtype(np.int64), np.dtype(bool)]
    args = (X, A)
    assert all(a is b for a, b in zip(arrays(args), args, strict=True))


# Refused arguments and results


class Metres(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        return NotImplemented


@pytest.mark.parametrize(
    ("value", "what", "cure"),
    [
        (1j, "cannot trace an array of dtype complex128, at p[0]", "real and imaginary parts"),
        (
            np.ones(2, complex),
            "cannot trace an array of dtype complex128, at p[0]",
            "real and imaginary parts",
        ),
        (np.array(["a"]), "cannot trace an array of dtype <U1, at p[0]", "codes"),
        (np.array([None]), "cannot trace an array of dtype object, at p[0]", "astype(float)"),
        (np.array(["2020"], "M8[D]"), "cannot trace an array of dtype datetime64[D], at p[0]", "timedelta64"),
        (np.zeros(1, [("a", float)]), "cannot trace an array of dtype [('a', '<f8')], at p[0]", "fields"),
        (2**70, "cannot trace an array of dtype object, at p[0]", "float(x)"),
        (np.ma.array([1.0]), "cannot trace a MaskedArray, at p[0]", "x.mask"),
        (np.ones((1, 1)).view(np.matrix), "cannot trace a matrix, at p[0]", "np.asarray(x)"),
        (np.ones(2).view(Metres), "cannot trace a Metres, at p[0]", "np.asarray(x)"),
    ],
)
def test_refused_arguments(value, what, cure):
    with pytest.raises(TraceError) as error:
        trace(lambda p: p, ([value],))
    assert error.value.what == what
    assert cure in error.value.cure
    assert error.value.cause
    with pytest.raises(TraceError):
        arrays(([value],))


def test_plain_subclasses_are_arrays(tmp_path):
    data = np.memmap(tmp_path / "data", dtype=float, mode="w+", shape=(3,))
    agree(lambda x: x + 1, data)


def returns_nothing(x):
    x = x + 1


def returns_text(x):
    return {"name": "text"}


@pytest.mark.parametrize(
    ("fun", "what"),
    [
        (returns_nothing, "returns_nothing() returns None"),
        (lambda x: (), "the function returns no array"),
        (lambda x: [None, {}], "the function returns no array"),
        (returns_text, "returns_text() returns no array"),
    ],
)
def test_refused_results(fun, what):
    with pytest.raises(TraceError) as error:
        trace(fun, (X,))
    assert error.value.what == what
    assert "return" in error.value.cure
    assert error.value.where == f"{__file__}:{fun.__code__.co_firstlineno}"


class Mode(Enum):
    FLAT, STEEP = "flat", "steep"


def fitted(x):
    """A result as solvers give it: numbers, and text that depends on them."""
    slope = np.abs(x).max()
    mode = Mode.STEEP if slope > 1 else Mode.FLAT
    return {"x": x**2, "message": "steep" if slope > 1 else "flat", "text": f"{slope:.3f}", "mode": mode}


def test_text_in_results_is_that_of_the_call():
    """What decides a text is a guard of the program, and what is written into one is traced at each call."""
    fun = rg.stabilize(fitted)
    for x in (X, 3 * X, X, 0.1 * X, 0.1 * X + 1e-3):
        got, want = fun(x), fitted(x)
        np.testing.assert_array_equal(got.pop("x"), want.pop("x"))
        assert got == want


def test_refused_results_of_other_kinds():
    with pytest.raises(TraceError, match="is a function, not an array"):
        trace(lambda x: (x, len, lambda: x)[::2], (X,))
    with pytest.raises(TraceError, match="is a generator, not an array"):
        trace(lambda x: (v for v in x), (X,))
    with pytest.raises(TraceError, match="type set"):
        trace(lambda x: {1.0}, (X,))
    with pytest.raises(TraceError, match=r"dtype complex128, at result\[1\]"):
        trace(lambda x: (x, 1j), (X,))


# Depth and speed


@pytest.mark.parametrize("n", [2000, 20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_deep_programs(n):

    def deep(x):
        for _ in range(n // 2):
            x = np.sin(x)
            x = x * 1.01
        return x

    traced = trace(deep, (X,))
    np.testing.assert_array_equal(run(traced, X), deep(X))
    assert n > 2000 or calls(lambda: trace(deep, (X,))) < 150 * n  # 65 measured


def test_functions_of_numbers_are_terms_beside_the_same_of_an_input():
    def numbers(f):
        return {t.op.value.item() for t in subterms(*trace(f, (0.3,)).outputs) if is_constant(t)}

    assert numbers(lambda x: np.exp(x) - 3.0 * np.exp(0.1)) == {3.0, 0.1}
    assert numbers(lambda x: np.sin(x) * (3.0 * np.exp(0.1))) == {3.0 * np.exp(0.1)}
    assert numbers(lambda x: np.sqrt(x) * np.sqrt(4.0)) == {2.0}


def test_numbers_are_numbers_to_code_that_takes_no_others():
    def f(x):
        y = np.exp(0.1)
        assert isinstance(y, np.float64)
        assert np.isscalar(y)
        assert float(f"{y:.3f}") == 1.105 == round(float(y), 3)
        assert y.hex() == float(np.exp(0.1)).hex()
        assert complex(y) == np.real(y * 1j / 1j) == abs(complex(0.0, y)) == float(y)
        return np.exp(x) * int(y) * [1.0, 2.0][int(y)]

    assert rg.stabilize(f)(0.7) == 2 * np.exp(0.7)


def test_a_function_that_takes_no_terms_gets_numbers():
    def f(x):
        return np.exp(x) * float(
            fractions.Fraction(np.exp(0.5)).limit_denominator(100) + decimal_of(np.exp(0.5))
        )

    def decimal_of(y):
        if not isinstance(y, float) or type(y).__name__ == "Tracer":
            raise TypeError("a float is needed")
        return round(float(y), 2)

    assert rg.stabilize(f)(0.7) == f(0.7)


def test_numbers_that_a_function_holds_are_told_from_those_that_it_computes():
    scale, shares = 0.7, {"a": [0.1, 0.25]}

    def f(x):
        return x * scale + shares["a"][0] - 1.5e-3 + math.pi + 0.3 * 0.2

    numbers = trace(f, (0.3,)).numbers
    assert numbers is not None
    assert {0.7, 0.1, 1.5e-3, math.pi} <= numbers
    assert scale * 0.1 not in numbers
    assert trace(lambda x: x * getattr(np, "pi"), (0.3,)).numbers is None  # noqa: B009
