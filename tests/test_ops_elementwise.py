"""Laws of the elementwise ops: they agree with NumPy, and their derivatives with mpmath, to second order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_checks import evaluate, inputs_like, jvp, vjp
from mpmath import mp, mpf

import relgrad as rg
from relgrad import kernels, stabilize, symbol
from relgrad.bounds import range_of
from relgrad.errors import GradientError, TraceError
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.op import as_term
from relgrad.ops import arithmetic, comparison, exponential, rounding, selection, trigonometric
from relgrad.ops.casting import Cast, cast
from relgrad.ops.elementwise import Elementwise
from relgrad.types import Interval

ROWS = {
    op.label: op
    for module in (arithmetic, exponential, trigonometric, comparison, rounding, selection)
    for op in vars(module).values()
    if isinstance(op, Elementwise)
}
NOT_ELEMENTWISE = {"matmul", "matvec", "vecdot", "vecmat", "isnat"}
UFUNCS = {
    u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc) and u.__name__ not in NOT_ELEMENTWISE
}
DTYPES = ["float64", "float32", "int64", "int32", "uint8", "bool"]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"), mpmath.workdps(60):
        yield


def sample(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("float"):
        special = rng.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan], shape)
        return np.where(rng.random(shape) < 0.3, special, rng.normal(size=shape) * 3).astype(dtype)
    return rng.integers(0, 7, shape).astype(dtype)


def same(found: Any, expected: Any) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


# Values


def test_every_real_ufunc_of_numpy_is_traced():
    assert not [name for name, u in UFUNCS.items() if u not in IMPLEMENTATIONS]


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_values_and_dtypes_are_those_of_numpy(name: str):
    ufunc = UFUNCS[name]
    tried = 0
    for first in DTYPES:
        for second in DTYPES if ufunc.nin == 2 else [None]:
            arguments = [sample(d, (2, 5), i) for i, d in enumerate([first, second]) if d is not None]
            try:
                expected = ufunc(*arguments)
            except TypeError:
                with pytest.raises(TypeError):
                    evaluate(ufunc, *arguments)
                continue
            found = evaluate(ufunc, *arguments)
            for x, y in zip(found, expected if ufunc.nout > 1 else [expected], strict=True):
                same(x, y)
            tried += 1
    assert tried


@pytest.mark.parametrize("scalar", [2, 2.5, True])
@pytest.mark.parametrize("name", sorted(n for n, u in UFUNCS.items() if u.nin == 2 and u.nout == 1))
def test_python_numbers_give_way_to_their_partners(name: str, scalar: Any):
    ufunc = UFUNCS[name]
    for dtype in DTYPES:
        x = sample(dtype, (3,))
        for f in (lambda x: ufunc(x, scalar), lambda x: ufunc(scalar, x)):
            try:
                expected = f(x)
            except TypeError:
                with pytest.raises(TypeError):
                    evaluate(f, x)
                continue
            same(evaluate(f, x)[0], expected)


def test_comparison_with_numbers_that_do_not_fit():
    x = np.array([3, 255], np.uint8)
    same(evaluate(lambda x: x < 300, x)[0], x < 300)
    same(evaluate(lambda x: x == -1, x)[0], x == -1)


shapes = st.sampled_from([(), (1,), (3,), (2, 1), (2, 3), (1, 3), (4, 1, 3), (0,), (0, 3), (2, 0)])


@given(
    st.sampled_from(["add", "arctan2", "less", "floor_divide", "maximum", "power"]),
    shapes,
    shapes,
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_shapes_broadcast_as_in_numpy(name: str, s: Any, t: Any, unknown: bool):
    f = getattr(np, name)
    x, y = np.full(s, 2.0), np.full(t, 3.0, np.float32)
    try:
        expected = f(x, y)
    except ValueError:
        with pytest.raises(ValueError):
            evaluate(f, x, y)
        return
    same(evaluate(f, x, y, unknown=unknown)[0], expected)


@given(shapes, shapes, shapes)
@settings(max_examples=60, deadline=None)
def test_where_broadcasts_as_in_numpy(s: Any, t: Any, r: Any):
    c, x, y = np.full(s, True), np.full(t, 2.0), np.full(r, 3)
    try:
        expected = np.where(c, x, y)
    except ValueError:
        with pytest.raises(ValueError):
            evaluate(np.where, c, x, y)
        return
    same(evaluate(np.where, c, x, y)[0], expected)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_source_computes_what_the_op_computes(name: str):
    op = ROWS[name]
    dtype = "int64" if name in ("gcd", "lcm", "invert") or "shift" in name or "bitwise" in name else "float64"
    arguments = [sample(dtype, (5,), i) for i in range(op.arity)]
    if name == "where":
        arguments[0] = arguments[0] > 0
    if name == "ldexp":
        arguments[1] = np.arange(5)
    names = ["a", "b", "c"][: op.arity]
    found = eval(
        op.code.format(*names), {"np": np, **vars(kernels), **dict(zip(names, arguments, strict=True))}
    )
    same(found, op.compute(*arguments))


X = np.array([-2.5, -0.0, 0.5, 1.5, 3.7, np.inf, -np.inf, np.nan])
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "clip": lambda x: np.clip(x, -1, 2),
    "clip below": lambda x: np.clip(x, 0, None),
    "clip above": lambda x: np.clip(x, None, 1.0),
    "clip not": lambda x: np.clip(x),
    "clip keywords": lambda x: np.clip(x, min=-1.0, max=1),
    "clip keyword": lambda x: np.clip(x, max=1),
    "clip crossed": lambda x: np.clip(x, 2, -1),
    "clip arrays": lambda x: np.clip(x, np.zeros((2, 1)), x * 0.5),
    "clip method": lambda x: x.clip(-1, 1),
    "clip method keyword": lambda x: x.clip(max=1),
    "round": lambda x: np.round(x),
    "round method": lambda x: x.round(),
    "round up": lambda x: np.round(x, 1),
    "around": lambda x: np.around(x * 100, -1),
    "fix": np.fix,
    "nan_to_num": np.nan_to_num,
    "nan_to_num options": lambda x: np.nan_to_num(x, nan=1.0, posinf=7.0, neginf=-7),
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "real": np.real,
    "imag": np.imag,
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: np.conjugate(x),
    "astype": lambda x: x.astype(np.float32),
    "astype half": lambda x: x.astype("float16"),
    "where scalar": lambda x: np.where(x > 0, x, 0),
    "where scalars": lambda x: np.where(x > 0, 1, 0.5),
    "where numbers": lambda x: np.where(x, x, 1.5),
    "where condition": lambda x: np.where(True, x, np.float32(2)),
    "degrees": np.degrees,
    "radians": np.radians,
    "operators": lambda x: abs(-x + 1) ** 2 // 3 % 2,
    "divmod": lambda x: divmod(x, 2)[1],
    "sinc": lambda x: np.sinc(np.where(np.isfinite(x), x, 0)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_built_of_ops_are_those_of_numpy(name: str, dtype: str):
    f, x = FUNCTIONS[name], X.astype(dtype)
    expected = np.asarray(f(x))
    (found,) = evaluate(f, x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_functions_of_integers_are_those_of_numpy(dtype: str):
    x = np.arange(8).astype(dtype)
    for f in (np.round, np.nan_to_num, np.fix, np.real, np.imag, lambda x: np.where(x > 0, x, 2)):
        same(evaluate(f, x)[0], f(x))
    if dtype == "bool":
        return
    for f in (lambda x: np.round(x, 1), lambda x: np.round(x * 17, -1), lambda x: np.clip(x, 2, 5)):
        same(evaluate(f, x)[0], f(x))


def test_integers_that_do_not_fit_raise_as_in_numpy():
    (x,) = inputs_like([np.zeros(3, np.uint8)])
    for f in (lambda x: x + 300, lambda x: np.maximum(-1, x)):
        with pytest.raises(OverflowError):
            f(np.zeros(3, np.uint8))
        with pytest.raises(OverflowError):
            f(x)


@pytest.mark.parametrize("target", [*DTYPES, "float16", "int8"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_are_those_of_numpy(dtype: str, target: str):
    x = np.array([0, 1, 5, 1]).astype(dtype)
    same(evaluate(lambda x: x.astype(target), x)[0], x.astype(target))
    (source,) = [Cast(np.dtype(target)).source(as_term(x), ["x"])]
    same(eval(str(source), {"np": np, "x": x}), x.astype(target))


def test_a_cast_to_the_same_dtype_is_nothing():
    (x,) = inputs_like([np.ones(3)])
    assert x.astype(float).term is x.term
    assert x.astype(np.float32).term is x.astype("float32").term


# Refusals


def test_options_of_ufuncs_are_refused_not_ignored():
    (x,) = inputs_like([np.ones(3)])
    for options in ({"where": np.array([True, False, True])}, {"out": np.zeros(3)}):
        with pytest.raises(TraceError, match=next(iter(options))):
            np.add(x, x, **options)
        with pytest.raises(TraceError, match=next(iter(options))):
            arithmetic.add(x, x, **options)
    assert np.add(x, x, where=True).term is np.add(x, x).term
    with pytest.raises(TraceError):
        np.clip(x, 0, 1, out=np.zeros(3))


def test_where_with_one_argument_asks_for_values():
    (x,) = inputs_like([np.ones(3)])
    with pytest.raises(TraceError, match=r"np\.where\(\.\.\.\) depends on a traced array"):
        np.where(x > 0)


def test_casts_that_numpy_or_the_reals_forbid_are_refused():
    (x,) = inputs_like([np.ones(3)])
    with pytest.raises(TraceError, match="complex128"):
        x.astype(complex)
    with pytest.raises(TraceError, match="same_kind"):
        x.astype(int, casting="same_kind")


@pytest.mark.parametrize("f", [lambda x: np.nextafter(x, 2.0), np.spacing])
def test_an_undefined_gradient_says_so(f: Any):
    with pytest.raises(GradientError, match="not defined"):
        evaluate(lambda x: vjp(f, 1)(x, as_term(np.ones(2))), np.ones(2))


# Derivatives

UNARY: dict[str, tuple[Any, Sequence[float]]] = {
    "negative": (lambda x: -x, [-2, 0, 3]),
    "positive": (lambda x: x, [-2, 0, 3]),
    "reciprocal": (lambda x: 1 / x, [-2, 1e-3, 1e60]),
    "square": (lambda x: x * x, [-2, 0, 1e60]),
    "sqrt": (mp.sqrt, [1e-8, 2, 1e200]),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [1e-6, 2, -2, 1e60]),
    "absolute": (abs, [-2, 3]),
    "fabs": (abs, [-2, 3]),
    "exp": (mp.exp, [-700, -1, 0, 1, 300]),
    "exp2": (lambda x: mpf(2) ** x, [-3, 0, 20]),
    "expm1": (mp.expm1, [-30, -1e-9, 0, 3]),
    "log": (mp.log, [1e-150, 0.5, 1, 1e200]),
    "log2": (lambda x: mp.log(x, 2), [1e-9, 0.5, 1e100]),
    "log10": (mp.log10, [1e-9, 0.5, 1e100]),
    "log1p": (mp.log1p, [-0.999999, -1e-9, 0, 1e100]),
    "sin": (mp.sin, [-1, 0, 3.1]),
    "cos": (mp.cos, [-1, 0.1, 3.1]),
    "tan": (mp.tan, [-1, 0.01, 1.5707]),
    "arcsin": (mp.asin, [-0.99999999, 1e-9, 0.01, 0.5]),
    "arccos": (mp.acos, [-0.99999999, 1e-9, 0.01, 0.5]),
    "arctan": (mp.atan, [-1e3, 0.01, 1e8]),
    "sinh": (mp.sinh, [-3, 0.001, 300]),
    "cosh": (mp.cosh, [-3, 0.001, 300]),
    "tanh": (mp.tanh, [-15, 1e-9, 0.001, 1, 20]),
    "arcsinh": (mp.asinh, [-5, 0.001, 1e100]),
    "arccosh": (mp.acosh, [1.0000001, 2, 1e100]),
    "arctanh": (mp.atanh, [-0.99999999, 1e-9, 0.001, 0.5]),
    "deg2rad": (mp.radians, [3]),
    "rad2deg": (mp.degrees, [3]),
}
BINARY: dict[str, tuple[Any, Sequence[tuple[float, float]]]] = {
    "add": (lambda x, y: x + y, [(1, 2)]),
    "subtract": (lambda x, y: x - y, [(1, 2)]),
    "multiply": (lambda x, y: x * y, [(1, 2), (0, 3)]),
    "divide": (lambda x, y: x / y, [(1, 2), (0, 3), (1e60, 1e50)]),
    "power": (lambda x, y: x**y, [(2, 3), (0.5, -1.5), (3, 0), (1.5, 1)]),
    "float_power": (lambda x, y: x**y, [(2, 3), (0.5, -1.5), (3, 0), (1.5, 1)]),
    "hypot": (mp.hypot, [(3, 4), (-1e-6, 2), (1e200, 1e200), (1e-200, 2e-200), (0, 2)]),
    "arctan2": (mp.atan2, [(3, 4), (-1e-6, 2), (1e100, 1e100), (1e-60, -2e-60), (2, -0.1)]),
    "logaddexp": (
        lambda x, y: _log_of_sum(x, y, mp.exp, mp.log),
        [(1, 2), (3, 3), (1e6, 1e6 + 1), (-30, 5), (5, -800)],
    ),
    "logaddexp2": (
        lambda x, y: _log_of_sum(x, y, lambda z: mpf(2) ** z, lambda z: mp.log(z, 2)),
        [(1, 2), (3, 3), (-30, 5)],
    ),
    "copysign": (lambda x, y: abs(x) * mp.sign(y), [(1, -2), (-2, 3), (-1, -1)]),
    "maximum": (max, [(1, 2), (4, 3)]),
    "minimum": (min, [(1, 2), (4, 3)]),
    "fmax": (max, [(1, 2), (4, 3)]),
    "fmin": (min, [(1, 2), (4, 3)]),
    "remainder": (lambda x, y: x - mp.floor(x / y) * y, [(7.3, 2), (-7.3, 2), (7.3, -2)]),
    "fmod": (lambda x, y: x - _truncated(x / y) * y, [(7.3, 2), (-7.3, 2), (7.3, -2), (3 - 2**-51, 3)]),
    "heaviside": (lambda x, y: mpf(x > 0), [(1, 2), (-1, 3)]),
}


def _truncated(x: Any) -> Any:
    return mp.floor(x) if x > 0 else mp.ceil(x)


def _log_of_sum(x: Any, y: Any, exp: Any, log: Any) -> Any:
    top = max(x, y)
    with mpmath.workdps(800):
        return top + log(exp(x - top) + exp(y - top))


def _nonzero_rules(op: Elementwise) -> bool:
    return op.undefined is None and any(rule is not None for rule in op.rules)


def test_every_differentiable_row_has_a_derivative_test():
    tested = {*UNARY, *BINARY, "where", "ldexp", "mantissa", "sech_squared", "one_minus_square", "log_cosh"}
    tested |= {"coversin", "versin"}  # by the table of kernels
    assert {name for name, op in ROWS.items() if _nonzero_rules(op)} <= tested


def _partials(f: Any, count: int) -> Any:
    """Return the functions of the first partial derivatives of an elementwise f."""
    one = as_term(np.float64(1.0))
    return [lambda *xs, i=i: vjp(f, count)(*xs, one)[i] for i in range(count)]


CANCELLING = {"hypot": mpf("1e-3")}
"""Rows whose second derivatives are accurate only relative to the size of the function, times this."""


def _close(found: Any, exact: Any, scale: Any, where: Any) -> None:
    error = abs(mpf(float(found)) - exact)
    noise = CANCELLING.get(where[0], 0) if sum(where[-1]) == 2 else 0
    # The reference itself, by differences, is right to 20 digits or more.
    assert error <= mpf("2e-14") * abs(exact) + (noise * mpf("2e-13") + mpf("1e-20")) * scale + mpf(
        "1e-320"
    ), where


def _exact(f: Any, point: Any, orders: tuple[int, ...]) -> Any:
    """Differentiate in scaled variables, so that the step is small beside each argument."""
    scales = [abs(mpf(p)) or mpf(1) for p in point]
    scaled = lambda *ts: f(*[p + s * t for p, s, t in zip(point, scales, ts, strict=True)])
    if not any(orders):
        return f(*point)
    d = mp.diff(scaled, tuple([mpf(0)] * len(point)), orders, h=mpf("1e-25"), relative=False)
    return d / mp.fprod(s**k for s, k in zip(scales, orders, strict=True))


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_first_and_second_derivatives_are_those_of_mpmath(name: str):
    f = getattr(np, name)
    g, points = (UNARY | BINARY)[name]
    points = [p if isinstance(p, tuple) else (p,) for p in points]
    n = len(points[0])
    arrays = [np.array([p[i] for p in points], float) for i in range(n)]
    scale = [abs(mpf(g(*map(mpf, p)))) for p in points]
    with mpmath.workdps(120):
        for i, partial in enumerate(_partials(f, n)):
            first = evaluate(partial, *arrays)[0] * np.ones(len(points))
            seconds = [evaluate(p, *arrays)[0] * np.ones(len(points)) for p in _partials(partial, n)]
            for k, point in enumerate(points):
                exact = tuple(map(mpf, [a[k].item() for a in arrays]))
                orders = [int(j == i) for j in range(n)]
                # What cancels completely is measured by the size of the function per argument.
                size = lambda orders, k=k, e=exact: (
                    scale[k] / mp.fprod((abs(x) or 1) ** o for x, o in zip(e, orders, strict=True))
                )
                _close(first[k], _exact(g, exact, tuple(orders)), size(orders), (name, point, orders))
                for j in range(n):
                    both = [o + int(m == j) for m, o in enumerate(orders)]
                    _close(seconds[j][k], _exact(g, exact, tuple(both)), size(both), (name, point, both))


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_pushforward_and_pullback_agree(name: str):
    f, points = getattr(np, name), (UNARY | BINARY)[name][1]
    points = [p if isinstance(p, tuple) else (p,) for p in points]
    n = len(points[0])
    arrays = [np.array([p[i] for p in points], float) for i in range(n)]
    for i, partial in enumerate(_partials(f, n)):
        tangents = [np.full(len(points), float(j == i)) for j in range(n)]
        found = evaluate(jvp(f, n), *arrays, *tangents)[0]
        np.testing.assert_allclose(
            found, np.broadcast_to(evaluate(partial, *arrays)[0], found.shape), rtol=1e-15
        )


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_derivatives_keep_float32(name: str):
    f, points = getattr(np, name), (UNARY | BINARY)[name][1]
    n = len(points[0]) if isinstance(points[0], tuple) else 1
    arrays = [np.full(3, 0.5, np.float32)] * n
    xs = inputs_like(arrays)
    out = f(*xs)
    (g,) = inputs_like([np.ones(3, out.dtype)])
    for cotangent in out.term.op.L_op(xs, [out], [g]):
        assert cotangent is None or cotangent.dtype == out.dtype


def gradients(f: Any, *points: Any) -> list[Any]:
    arrays = [np.asarray(p, float) for p in points]
    one = as_term(np.ones(np.broadcast_shapes(*[a.shape for a in arrays])))
    return evaluate(lambda *xs: vjp(f, len(xs))(*xs, one), *arrays)


def test_constant_exponents_are_right_at_zero():
    for n, first, second in [
        (0, 0, 0),
        (1, 1, 0),
        (2, 0, 2),
        (3, 0, 0),
        (0.5, np.inf, -np.inf),
        (1.5, 0, np.inf),
    ]:
        for f in (
            lambda x, n=n: x**n,
            lambda x, n=n: np.float_power(x, n),
            lambda x, n=n: x ** np.array([n]),
        ):
            assert gradients(f, [0.0])[0] == first
            assert gradients(lambda x, f=f: vjp(f, 1)(x, as_term(np.ones(1)))[0], [0.0])[0] == second


def test_several_constant_exponents_at_once():
    n = np.array([0.0, 1.0, 2.0, 3.0])
    same(gradients(lambda x: x**n, np.zeros(4))[0], np.array([0.0, 1.0, 0.0, 0.0]))
    same(gradients(lambda x: x**n, np.full(4, -2.0))[0], n * (-2.0) ** (n - 1))


def test_the_derivative_in_the_exponent_is_0_at_base_0():
    base, exponent = gradients(np.power, [0.0, 0.0, 0.0, 2.0], [2.0, 1.0, 0.5, 0.0])
    same(base, np.array([0.0, 1.0, np.inf, 0.0]))
    same(exponent, np.array([0.0, 0.0, 0.0, math.log(2)]))
    (second,) = gradients(lambda y: vjp(lambda y: 0.0**y, 1)(y, as_term(np.ones(2)))[0], [2.0, 0.5])
    same(second, np.zeros(2))


def test_integer_exponents_get_no_cotangent():
    xs = inputs_like([np.ones(2), np.arange(2)])
    out = xs[0] ** xs[1]
    assert out.term.op.L_op(xs, [out], [out])[1] is None


def test_ties_are_split():
    for f in (np.maximum, np.minimum, np.fmax, np.fmin):
        same(np.array(gradients(f, [1.0], [1.0])), np.array([[0.5], [0.5]]))
    for f in (np.fmax, np.fmin):
        same(np.array(gradients(f, [1.0, np.nan], [np.nan, 2.0])), np.array([[1.0, 0.0], [0.0, 1.0]]))
    same(
        gradients(lambda x: np.clip(x, 0, 1), [-1.0, 0.0, 0.5, 1.0, 2.0])[0],
        np.array([0.0, 0.5, 1.0, 0.5, 0.0]),
    )


def test_where_passes_no_cotangent_to_what_is_not_chosen():
    x = np.array([0.0, 4.0])
    safe = lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)
    same(gradients(safe, x)[0], np.array([0.0, 0.25]))
    xs = inputs_like([x > 0, x, x])
    out = np.where(*xs)
    assert out.term.op.L_op(xs, [out], [xs[1]])[0] is None


def test_hypot_and_arctan2_at_the_origin_and_far_out():
    same(np.array(gradients(np.hypot, [0.0], [0.0])), np.zeros((2, 1)))
    np.testing.assert_allclose(gradients(np.hypot, [1e300], [1e300]), [[0.5**0.5]] * 2, rtol=1e-15)
    np.testing.assert_allclose(gradients(np.arctan2, [1e300], [1e300]), [[0.5e-300], [-0.5e-300]], rtol=1e-15)
    assert np.isfinite(gradients(np.arctan2, [0.0], [0.0])).all()


@pytest.mark.parametrize("x", [0.0, 20.0, 177.0, 354.0, 400.0, 800.0, -800.0])
def test_tanh_in_its_tails(x: float):
    with mpmath.workdps(800):
        first = 1 / mp.cosh(mpf(x)) ** 2
        second = -2 * first * mp.tanh(mpf(x))
    f = lambda x: vjp(np.tanh, 1)(x, as_term(np.ones(1)))[0]
    np.testing.assert_allclose(gradients(np.tanh, [x])[0], float(first), rtol=1e-14, atol=5e-324)
    np.testing.assert_allclose(gradients(f, [x])[0], float(second), rtol=1e-14, atol=1e-320)


def test_logaddexp_of_infinities():
    x, y = [-np.inf, -np.inf, 0.0, np.inf, 3.0], [-np.inf, 2.0, -np.inf, 1.0, np.inf]
    dx, dy = gradients(np.logaddexp, x, y)
    same(dx, np.array([0.0, 0.0, 1.0, 1.0, 0.0]))
    same(dy, np.array([0.0, 1.0, 0.0, 0.0, 1.0]))
    f = lambda x, y: vjp(np.logaddexp, 2)(x, y, as_term(np.ones(5)))[0]
    assert not np.isnan(gradients(f, x, y)).any()


def test_sinc_at_zero():
    second = lambda x: vjp(np.sinc, 1)(x, as_term(np.ones(3)))[0]
    x = [0.0, 1e-9, 0.5]
    exact = [
        [mp.diff(mp.sincpi, mpf(v), k) if v else mpf([0, 0, -(mp.pi**2) / 3][k]) for v in x] for k in (1, 2)
    ]
    np.testing.assert_allclose(gradients(np.sinc, x)[0], np.array(exact[0], float), rtol=1e-13)
    np.testing.assert_allclose(gradients(second, x)[0], np.array(exact[1], float), rtol=1e-13)


def test_heaviside_and_rounding():
    same(
        np.array(gradients(np.heaviside, [-1.0, 0.0, 1.0], [0.5] * 3)), np.array([[0.0] * 3, [0.0, 1.0, 0.0]])
    )
    for f in (np.floor, np.ceil, np.rint, np.trunc, np.sign, np.fix, np.round, lambda x: x // 0.3):
        same(gradients(f, [0.4, -0.7])[0], np.zeros(2))


def test_scalings_by_powers_of_two():
    same(gradients(lambda x: np.ldexp(x, 3), [1.5])[0], np.array([8.0]))
    same(gradients(lambda x: np.frexp(x)[0], [12.0])[0], np.array([1 / 16]))
    same(gradients(lambda x: np.modf(x)[0], [1.5, -2.25])[0], np.ones(2))
    same(gradients(lambda x: divmod(x, 2.0)[1], [1.5, -2.25])[0], np.ones(2))


def test_nan_to_num_has_gradient_0_where_it_replaces():
    same(gradients(np.nan_to_num, [1.0, np.nan, np.inf, -np.inf])[0], np.array([1.0, 0.0, 0.0, 0.0]))


def test_cast_between_floats_is_differentiable_and_to_integers_is_not():
    x = np.array([1.5, 2.5], np.float32)
    f = lambda x: x.astype(np.float64) ** 2
    (dx,) = evaluate(lambda x: vjp(f, 1)(x, as_term(np.ones(2))), x)
    same(dx, 2 * x)
    same(evaluate(jvp(f, 1), x, x)[0], 2 * x.astype(float) ** 2)
    (dx,) = evaluate(lambda x: vjp(lambda x: x.astype(int) * 1.0, 1)(x, as_term(np.ones(2))), x)
    same(dx, np.zeros(2, np.float32))
    assert not Cast(np.dtype(int)).connection_pattern(cast(inputs_like([x])[0], int).term)[0][0]


# Laws, ranges and balls


def sampled(op: Elementwise) -> list[np.ndarray]:
    """Return arguments in the domain of an op."""
    name = op.label
    if name in ("gcd", "lcm"):
        return [np.array([0, 1, 4, 6, 9, 10]), np.array([3, 0, 6, 6, 27, 15]), np.array([2, 3, 0, 4, 6, 25])]
    if name == "invert" or "bitwise" in name:
        return [
            np.array([0, -1, 4, 6, 9, 10]),
            np.array([3, 0, 6, 7, 27, 15]),
            np.array([2, 3, -9, 4, 6, 25]),
        ]
    if name.startswith("logical"):
        return list(np.array(np.meshgrid([True, False], [True, False], [True, False])).reshape(3, -1))
    if name == "hypot" or name == "sqrt" or name.startswith("log"):
        return list(np.random.default_rng(0).uniform(0.1, 3, (3, 6)))
    if name.startswith("arc"):
        return list(np.random.default_rng(0).uniform(-1, 1, (3, 6)) + (2.5 if name == "arccosh" else 0))
    return list(np.random.default_rng(0).normal(size=(3, 6)))


def test_declared_laws_hold():
    checked = 0
    for name, op in ROWS.items():
        laws, f, (x, y, z) = op.laws, op.compute, sampled(op)
        close = lambda a, b, name=name: np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14, err_msg=name)
        if laws.associative:
            close(f(f(x, y), z), f(x, f(y, z)))
        if laws.commutative:
            close(f(x, y), f(y, x))
        if laws.idempotent:
            close(f(f(x)), f(x)) if op.arity == 1 else close(f(x, x), x)
        as_like = lambda v, x=x: np.asarray(v).astype(x.dtype)
        if laws.identity is not None:
            close(f(x, as_like(laws.identity)), x)
        if laws.absorbing is not None:
            close(f(x, as_like(laws.absorbing)), as_like(laws.absorbing) + np.zeros_like(x))
        if laws.inverse is not None:
            close(ROWS[laws.inverse].compute(f(x)), x)
        if laws.monotone:
            assert (np.diff(f(np.sort(x))) * laws.monotone >= 0).all(), name
        if laws.homomorphism is not None:
            inner, outer = (ROWS[h].compute for h in laws.homomorphism)
            close(f(inner(x, y)), outer(f(x), f(y)))
        for i in laws.linear:
            rest = [np.arange(6)] if name == "ldexp" else [z]
            at = lambda v, i=i, rest=rest, f=f, op=op: (
                f(*[*rest[:i], v, *rest[i:]][: op.arity]) if op.arity > 1 else f(v)
            )
            close(at(2 * x + y), 2 * at(x) + at(y))
        checked += laws != type(laws)()
    assert checked > 50


def test_unlawful_ops_would_be_found():
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(np.subtract(1.0, 2.0), np.subtract(2.0, 1.0))
    x, y, z = sampled(ROWS["subtract"])
    assert not np.allclose((x - y) - z, x - (y - z))


ENDS = [-np.inf, -4.0, -1.5, -1.0, -0.3, 0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 40.0, np.inf]


@st.composite
def intervals(draw: Any) -> tuple[Interval, list[float]]:
    """An interval, and numbers in it."""
    low, high = sorted([draw(st.sampled_from(ENDS[:-1])), draw(st.sampled_from(ENDS[1:]))])
    if low == high:
        return Interval(low, high), [low]
    r = Interval(low, high, draw(st.booleans()), draw(st.booleans()))
    near = st.floats(max(low, -50.0), min(high, 50.0))
    points = [draw(near), draw(near), *[v for v in ENDS if low < v < high]]
    points += [low] if not r.open_low else [math.nextafter(low, 50.0)]
    points += [high] if not r.open_high else [math.nextafter(high, -50.0)]
    inside = [
        p
        for p in points
        if math.isfinite(p)
        and (low < p < high or (p == low and not r.open_low) or (p == high and not r.open_high))
    ]
    return r, inside


def holds(r: Interval, value: Any) -> bool:
    """Whether a ball may lie in an interval."""
    above = not value < r.low and not (r.open_low and value <= r.low)
    below = not value > r.high and not (r.open_high and value >= r.high)
    return bool(above and below)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", sorted(n for n, op in ROWS.items() if op.scalar_ball is not None))
def test_values_lie_in_their_ranges(name: str):
    op = ROWS[name]

    @given(st.lists(intervals(), min_size=op.arity, max_size=op.arity), st.randoms(use_true_random=False))
    @settings(max_examples=60 if op.arity == 1 else 120, deadline=None)
    def check(parts: Any, random: Any) -> None:
        found = op.range_of(*[r for r, _ in parts])
        for _ in range(6):
            point = [random.choice(points) for _, points in parts if points]
            if len(point) < op.arity:
                return
            value = op.scalar_ball(*map(flint.arb, point))
            if value.is_finite():
                assert holds(found, value), (name, parts, point, found, value)

    check()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["rint", "heaviside", "fmod", "nextafter", "exponent", "mantissa", "isnan", "logical_xor"]
)
def test_values_of_ops_without_balls_lie_in_their_ranges(name: str):
    op = ROWS[name]

    @given(st.lists(intervals(), min_size=op.arity, max_size=op.arity), st.randoms(use_true_random=False))
    @settings(max_examples=60, deadline=None)
    def check(parts: Any, random: Any) -> None:
        found = op.range_of(*[r for r, _ in parts])
        point = [random.choice(points) for _, points in parts if points]
        if len(point) == op.arity:
            value = float(op.compute(*point))
            assert math.isnan(value) or holds(found, value), (name, parts, point, found, value)

    check()


def test_ranges_keep_signs():
    positive, unit = Interval(0.0, math.inf, True), Interval(0.0, 1.0)
    range_of = lambda name, *r: ROWS[name].range_of(*r)
    one, two = Interval(1.0, 1.0), Interval(2.0, 2.0)
    assert range_of("multiply", positive, positive).positive
    assert range_of("divide", one, positive).positive
    assert range_of("add", positive, unit).positive
    assert range_of("subtract", one, unit).nonnegative
    assert range_of("exp", Interval(-1e4, 0.0)).positive
    assert range_of("power", Interval(), two).nonnegative
    assert range_of("power", positive, Interval()).positive
    assert range_of("sqrt", positive).positive
    assert range_of("maximum", Interval(), positive).positive
    assert range_of("log", unit).high == 0
    assert not range_of("subtract", positive, positive).nonnegative
    assert not range_of("tanh", Interval(-1.0)).nonnegative
    assert Cast(np.dtype(int)).range_of(Interval(0.0, 1.0, True, True)) == unit
    assert Cast(np.dtype(np.uint8)).range_of(Interval(-1.0, 1.0)).high == 255


@pytest.mark.parametrize(
    "mask",
    [
        lambda b: b,
        lambda b: ~b,
        lambda b: b & ~b,
        lambda b: np.where(b, ~b, b),
        lambda b: np.concatenate([~b, b]),
        lambda b: np.any(b) ^ b,
    ],
)
def test_truth_values_are_zero_or_one(mask: Callable[..., Any]) -> None:
    b = symbol("b", shape=(3,), dtype=bool)
    assert range_of(as_term(mask(b))) == range_of(as_term(mask(b) * 1.0)) == Interval(0.0, 1.0)


def test_a_mask_that_is_negated_weighs_in_the_log_domain() -> None:
    x, b = np.array([1e3, 3e3, -2e3]), np.array([False, True, False])
    f = stabilize(lambda x, b: np.log(np.exp(x[0]) / np.sum(np.exp(x) * ~b)))
    assert f(x, b) == 0.0 and f(x, ~b) == -2e3


@pytest.mark.parametrize("name", sorted(n for n, op in ROWS.items() if op.scalar_ball is not None))
def test_balls_agree_with_numpy(name: str):
    op = ROWS[name]
    points = sampled(op)[: op.arity]
    if name == "where":
        points[0] = points[0] > 0
    if name == "ldexp":
        points[1] = np.arange(6)
    balls = [np.frompyfunc(lambda v: flint.arb(v), 1, 1)(p.astype(float)) for p in points]
    found = np.array([float(b) for b in op.ball(*balls)])
    np.testing.assert_allclose(found, np.asarray(op.compute(*points), float), rtol=1e-13, atol=1e-15)


def test_undecided_comparisons_widen_what_is_chosen():
    x = flint.arb(0, 1)
    undecided = ROWS["less"].scalar_ball(x, flint.arb(0))
    assert undecided.contains(flint.arb(0)) and undecided.contains(flint.arb(1))
    chosen = ROWS["where"].scalar_ball(undecided, flint.arb(3), flint.arb(5))
    assert chosen.contains(flint.arb(3)) and chosen.contains(flint.arb(5))
    assert ROWS["logical_and"].scalar_ball(undecided, flint.arb(0)) == 0


@pytest.mark.parametrize(
    ("f", "low", "high"),
    [
        (lambda x: x * x, 0, np.inf),
        (lambda x: -x * x / 2, -np.inf, 0),
        (lambda x: (-0.5 * x) * (x * 3), -np.inf, 0),
        (lambda x: (-2 * (x - 1)) * (-3 * (x - 1)), 0, np.inf),
        (lambda x: (-x) * (x + 1), -np.inf, np.inf),
        (lambda x: x * (0 * x), -np.inf, np.inf),
    ],
)
def test_a_square_has_a_sign_however_it_is_multiplied(f, low, high):
    known = range_of(as_term(f(rg.symbol("x", (3,)))))
    assert known.low >= low and known.high <= high
    y = f(np.array([-3.0, 0.0, 2.5]))
    assert known.low <= y.min() and y.max() <= known.high


def test_a_choice_that_is_known_is_no_choice():
    yes, x = np.array([True, True]), np.array([0.5, 2.0])
    for choice in (
        lambda x: np.where(yes, np.log(x), np.nan),
        lambda x: np.where(~yes, np.nan, np.log(x)),
        lambda x: np.where(x > 1, np.log(x), np.log(x)),
    ):
        assert "where" not in rg.stabilize(choice).source(x)
        np.testing.assert_array_equal(rg.stabilize(choice)(x), np.log(x))
    np.testing.assert_array_equal(rg.stabilize(lambda x: np.where(yes[:, None], x, 2.0))(x), [x, x])
    assert rg.stabilize(lambda x: np.where(True, x, np.float64(2)))(x.astype(np.float32)).dtype == np.float64
    assert rg.stabilize(lambda x: np.where(yes[:0], x, 2.0))(x[:0]).shape == (0,)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, bool])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.power(x, [0, 1, 2]),
        lambda x: np.maximum((1.5, 2, 3), x),
        lambda x: np.multiply(x, [x[0], 1, 2]),
        lambda x: np.add(x, [[1], [2]]),
    ],
)
def test_lists_are_operands_of_the_dtype_that_numpy_gives_them(f, dtype):
    x = np.array([1, 2, 3]).astype(dtype)
    found = rg.stabilize(f)(x)
    np.testing.assert_allclose(found, f(x), rtol=1e-3)
    assert found.dtype == f(x).dtype


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_the_larger_of_one_is_that_one(f):
    """max(x, x) = x, at every order, wherever x nearly meets what is taken from it."""
    x = np.array([0.3, -2.0, np.nan])
    source = rg.stabilize(lambda x: f(x, x)).source(x)
    assert f.__name__ not in source
    np.testing.assert_array_equal(rg.stabilize(lambda x: f(x, x))(x), x)
    slope = rg.grad(
        lambda x, h: (f(np.exp(x + h), np.exp(x + h)) - f(np.exp(x), np.exp(x))) / h, argnums=(0, 1)
    )
    np.testing.assert_allclose(slope(0.5, 1e-20), [np.exp(0.5), np.exp(0.5) / 2], rtol=1e-14)
