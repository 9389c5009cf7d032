"""NaN in arguments, and ops outside their domains: NumPy's answer, or the equation's on demand, at every order."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import relgrad as rg
from relgrad.compile import undefined
from relgrad.definedness.marks import covered
from relgrad.definedness.reach import Reach
from relgrad.errors import ConventionError
from relgrad.kernels.containers import parts
from relgrad.kernels.numbers import has_nan
from relgrad.op import Op
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.lengths import Unit
from relgrad.ops.reduction import Reduction
from relgrad.ops.rows import RowsOp

NAN = np.nan
V = np.array([1.0, -2.0, 0.5])
W = np.array([1.0, 2.0, 3.0])
POINTS = {
    "inside": np.array([0.3, 0.5, 0.9]),
    "negative": np.array([-0.5, 0.25, 0.5]),
    "beyond 1": np.array([0.5, 2.0, -3.0]),
    "NaN": np.array([NAN, 0.25, 0.5]),
    "another NaN": np.array([0.5, -0.25, NAN]),
}
PROGRAMS: dict[str, Any] = {
    "sqrt(x)**2": lambda x: np.sqrt(x) ** 2,
    "(x**0.5)**2": lambda x: (x**0.5) ** 2,
    "exp(log(x))": lambda x: np.exp(np.log(x)),
    "expm1(log1p(x))": lambda x: np.expm1(np.log1p(x)),
    "sin(arcsin(x))": lambda x: np.sin(np.arcsin(x)),
    "tanh(arctanh(x))": lambda x: np.tanh(np.arctanh(x)),
    "x - x": lambda x: x - x,
    "x/x": lambda x: x / x,
    "0*x": lambda x: 0 * x,
    "0*log(x)": lambda x: 0 * np.log(x),
    "log(x) - log(x)": lambda x: np.log(x) - np.log(x),
    "log(1 - x) - log(1 - x)": lambda x: np.log(1 - x) - np.log(1 - x),
    "shares": lambda x: np.exp(x) / np.sum(np.exp(x)),
    "a sum of shares": lambda x: np.sum(np.exp(x) / np.sum(np.exp(x))),
    "the same sum twice": lambda x: np.sum(x) - np.sum(x) + W,
    "moved": lambda x: (x - x)[::-1] + W,
    "a slice": lambda x: (x - x)[1:] * 2.0,
    "sums of what came before": lambda x: np.cumsum(x) - np.cumsum(x),
    "a product of matrices": lambda x: (np.outer(x, x) @ W) / np.sum(x * W),
    "roots of a product": lambda x: np.sqrt(x * x[::-1]) ** 2,
    "entropy": lambda x: -np.sum(x * np.log(x)),
    "cross entropy": lambda x: -np.sum(W * np.log(x) + (1 - W) * np.log(1 - x)),
    "maximum": lambda x: np.maximum(x, 0.4) - x + x,
    "fmax": lambda x: np.fmax(x, 0.4) * 2.0,
    "isnan": lambda x: np.where(np.isnan(x), 0.0, x) * 2.0,
    "a power of 0": lambda x: x**0 + W,
    "a norm": lambda x: np.sqrt(np.sum(x**2)),
    "mean and deviation": lambda x: np.mean(x) + np.sqrt(np.mean((x - np.mean(x)) ** 2)),
    "a condition that NaN decides": lambda x: np.where(x - x == 0, 1.0, 2.0) * np.exp(np.log(np.abs(x))),
}


def pattern(values: Any) -> list[Any]:
    return [np.isnan(value).tolist() for value in values]


def orders(f: Any, x: Any, **how: Any) -> Iterator[Any]:
    """Yield gradient, pullback, tangent, and product with the Hessian, of a weighted sum."""
    size = np.size(f(W))
    cost = lambda t: np.sum(f(t) * np.arange(1.0, 1.0 + size).reshape(np.shape(f(W))))
    slope = rg.grad(cost, **how)
    yield slope(x)
    yield rg.vjp(cost, x, **how)[1](1.0)[0]
    yield rg.jvp(cost, (x,), (V,), **how)[1]
    yield rg.grad(lambda t: np.sum(slope(t) * V), **how)(x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_nan_where_those_of_numpy_are(name: str) -> None:
    f = PROGRAMS[name]
    made = rg.stabilize(f)
    with np.errstate(all="ignore"):
        for x in POINTS.values():
            np.testing.assert_allclose(made(x), f(x), rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_nan_where_the_chain_rule_as_written_is(name: str) -> None:
    f = PROGRAMS[name]
    with np.errstate(all="ignore"):
        for where, x in POINTS.items():
            if name == "isnan" and np.isnan(x).any():
                continue  # nothing flows to what is not taken, where 0 * NaN is written
            assert pattern(orders(f, x)) == pattern(orders(f, x, strategy="naive")), where


ABSORBED: dict[str, Any] = {
    "greater": lambda v: v > 0.4,
    "not less": lambda v: ~(v < 0.4),
    "equal": lambda v: v == v,
    "unequal": lambda v: v != 1.0,
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "fmax": lambda v: np.fmax(v, 0.4),
    "fmin": lambda v: np.fmin(0.4, v),
    "nan_to_num": np.nan_to_num,
    "nansum": np.nansum,
    "argmax": np.argmax,
    "a choice": lambda v: np.where(v > 0.4, 1.0, 2.0),
    "a sum of some": lambda v: np.sum(W, where=v > 0.4),
    "how many": lambda v: np.count_nonzero(v <= 0.4),
}
"""Functions that are numbers of numbers that are none."""
DEFINED_BY_EQUATIONS = ["sqrt(x)**2", "exp(log(x))", "x/x", "x - x", "0*x", "log(x) - log(x)", "moved"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("tested", ABSORBED)
@pytest.mark.parametrize("name", DEFINED_BY_EQUATIONS)
def test_what_is_undefined_as_written_is_tested_as_numpy_tests_it(
    name: str, tested: str, strategy: str
) -> None:
    f = lambda x: ABSORBED[tested](PROGRAMS[name](x))
    found = rg.stabilize(f, strategy=strategy)
    for x in POINTS.values():
        with np.errstate(all="ignore"):
            expected = f(x)
        np.testing.assert_allclose(found(x), expected, rtol=1e-12, atol=1e-12)


def test_a_test_that_shows_what_is_undefined_stays_as_written() -> None:
    f = lambda x, y: np.where(x * y - 1.0 > 0.0, np.log(np.exp(x) / np.sum(np.exp(x))), y)
    assert "isnan" not in rg.stabilize(f).source(V, W)
    assert "isnan" in rg.stabilize(lambda x: np.where(x / x > 0.5, x, 0.0)).source(V)


@pytest.mark.parametrize("name", ["sqrt(x)**2", "exp(log(x))", "x/x", "shares", "x - x"])
def test_a_hessian_is_nan_where_it_is_that_of_what_is_undefined(name: str) -> None:
    f = lambda x: np.sum(PROGRAMS[name](x))
    with np.errstate(all="ignore"):
        for x in POINTS.values():
            found, written = np.isnan(rg.hessian(f)(x)), np.isnan(rg.hessian(f, strategy="naive")(x))
            # Beside the diagonal 0 * NaN is written, where nothing flows.
            assert not (found & ~written).any()
            assert np.diagonal(found).tolist() == np.diagonal(written).tolist()


def test_the_equation_is_what_counts_where_that_is_asked_for() -> None:
    x = np.array([NAN, -1.0, 4.0])
    ways: list[Any] = [{"nan": "real"}, {"conventions": rg.Conventions(nan="real")}]
    for how in ways:
        np.testing.assert_array_equal(rg.stabilize(lambda x: np.sqrt(x) ** 2, **how)(x), x)
        np.testing.assert_array_equal(rg.stabilize(lambda x: x - x, **how)(x), 0)
        np.testing.assert_array_equal(rg.grad(lambda x: np.sum(np.sqrt(x) ** 2), **how)(x), 1)
        np.testing.assert_array_equal(rg.hessian(lambda x: np.sum(np.sqrt(x) ** 2), **how)(x), 0)
    assert rg.stabilize(lambda x: x / x, conventions=rg.Conventions(ties="first"), nan="real")(NAN) == 1


def test_what_the_convention_may_be() -> None:
    with pytest.raises(ConventionError, match="nan='no' is no convention"):
        rg.grad(np.sum, nan="no")


MENDED: dict[str, tuple[Any, Any]] = {
    "a softmax that overflows": (lambda x: np.exp(x) / np.sum(np.exp(x)), np.array([1000.0, 0.0])),
    "a removable singularity": (lambda x: np.sin(x) / x + x / x, np.zeros(2)),
    "0 log 0": (lambda x: x * np.log(x), np.array([0.0, 1.0])),
    "inf - inf": (lambda x: np.exp(x) * np.exp(-x) + np.log(np.exp(x)) - x, np.array([800.0, -800.0])),
    "a variance that rounding makes negative": (
        lambda x: np.sqrt(np.mean(x**2) - np.mean(x) ** 2),
        np.full(3, 0.1) + 1e-17,
    ),
    "a root that rounding makes negative": (lambda x: np.sqrt(1 - np.tanh(x) ** 2), np.array([30.0, 1.0])),
}


@pytest.mark.parametrize("name", MENDED)
def test_what_floats_do_undefines_nothing(name: str) -> None:
    f, x = MENDED[name]
    assert np.isfinite(rg.stabilize(f)(x)).all()
    assert not np.isnan(rg.grad(lambda x: np.sum(f(x) * W[: np.size(x)].mean()))(x)).any()


MASKED = [
    lambda x: np.where(x > 0, np.sqrt(x), 0.0),
    lambda x: np.where(x <= 0, 0.0, np.log(x)),
    lambda x: np.where((x > 0) & (x < 1), np.log(x) + np.log1p(-x), 0.0),
    lambda x: (x > 0) * np.sqrt(x),
    lambda x: np.array([0.0, 1.0, 1.0]) * np.sqrt(x),
    lambda x: np.sqrt(x)[1:],
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", MASKED)
def test_a_branch_that_is_not_taken_may_be_undefined(f: Any) -> None:
    x = np.array([-1.0, 0.25, 0.5])
    with np.errstate(all="ignore"):
        assert np.isfinite(rg.stabilize(f)(x)).all()
        found = list(orders(f, x))
    assert all(np.isfinite(d).all() for d in found)
    assert found[0][0] == 0


def test_where_nothing_flows_to_either_branch_it_does_not_matter_which_is_taken() -> None:
    """min(√x, x) of x < 0: NaN is neither below x nor equal to it, and what flows to the choice is 0."""
    f = lambda x: np.sum(np.where(x > 0, np.minimum(np.sqrt(x), x), np.array([0.3, 0.6])))
    g = lambda x: np.where(x > 0, x * np.minimum(np.sqrt(x), 1.0), x)
    with np.errstate(all="ignore"):
        assert [rg.grad(f)(np.array([x])).item() for x in (-1.0, 4.0)] == [0.0, 0.5]
        assert np.isnan(rg.grad(f)(np.array([NAN])))
        assert all(np.isfinite(d).all() for d in orders(g, np.array([-1.0, 0.5, 2.0])))


def test_nan_in_a_mask_is_no_mask() -> None:
    x = np.array([NAN, 0.25, -1.0])
    with np.errstate(all="ignore"):
        assert pattern([rg.grad(lambda x: np.sum((x > 0) * np.sqrt(x)))(x)]) == [[True, False, False]]
        assert pattern([rg.stabilize(lambda x: (x > 0) * np.sqrt(x))(x)]) == [[True, False, False]]


class Pair(NamedTuple):
    share: Any
    rest: Any


def test_several_arrays_and_results() -> None:
    def f(p: dict[str, Any], n: Any) -> Any:
        share = p["b"] / p["b"]
        return {"z": Pair(share, [n + 1]), "a": (np.sqrt(p["a"]) ** 2, p["b"] > 0)}

    p = {"b": np.array([[NAN, 1.0], [2.0, 3.0]], np.float32), "a": np.float64(-2.0)}
    with np.errstate(all="ignore"):
        found = rg.stabilize(f)(p, 3)
    assert found["z"].share.dtype == np.float32
    assert np.isnan(found["z"].share).tolist() == [[True, False], [False, False]]
    assert np.isnan(found["a"][0])
    assert found["z"].rest == [4]
    assert found["a"][1].tolist() == [[False, True], [True, True]]


def test_what_a_program_reads_outside_may_be_nan_too() -> None:
    data = np.array([1.0, 2.0, 3.0])
    f = rg.stabilize(lambda x: x + data - data)
    assert not np.isnan(f(W)).any()
    data[1] = NAN
    assert np.isnan(f(W)).tolist() == [False, True, False]


def test_the_source_does_the_same_alone() -> None:
    for f in (
        rg.stabilize(PROGRAMS["shares"]),
        rg.grad(lambda x: np.sum(W * PROGRAMS["roots of a product"](x))),
    ):
        for x in POINTS.values():
            space: dict[str, Any] = {}
            text = f.source(x)
            exec(text, space)
            name = text.rpartition("def ")[2].partition("(")[0]
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(space[name](x), f(x))


UNTESTED = {
    "logistic": lambda w: np.sum(np.log(1 + np.exp(-np.outer(W, V) @ w))),
    "squares": lambda w: np.sum((w - V) ** 2),
    "log": lambda w: np.sum(np.log(w)),
    "masked root": lambda w: np.sum(np.where(w > 0, np.sqrt(w), 0.0)),
}


@pytest.mark.parametrize("name", UNTESTED)
def test_what_is_nan_by_itself_is_not_asked(name: str) -> None:
    f = UNTESTED[name]
    assert "keeps_nan" not in rg.stabilize(f).source(W)
    assert "keeps_nan" not in rg.stabilize(f, nan="real").source(W)
    if name != "masked root":
        assert "keeps_nan" not in rg.grad(f).source(W)


# Ops


def subclasses(cls: type) -> Iterator[type]:
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def elementwise() -> list[Elementwise]:
    import gc

    found = {op.label: op for op in gc.get_objects() if isinstance(op, Elementwise) and op.arity <= 3}
    return [found[label] for label in sorted(found)]


PROBES = (-2.5, -1.0, -0.3, 0.0, 0.3, 1.0, 2.5)
LOOSE = {"power", "float_power"}
POLES = {"digamma_n", "gamma", "vanishing", "divide", "floor_divide", "where", "nan_where"}


@pytest.mark.parametrize("op", elementwise(), ids=str)
def test_strict_ops_show_nan(op: Elementwise) -> None:
    if not op.is_strict or op.label in LOOSE:
        return
    for i, rest in itertools.product(range(op.arity), itertools.product(PROBES, repeat=op.arity - 1)):
        operands = [*rest[:i], NAN, *rest[i:]]
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(op.function(*map(np.float64, operands)))
        except TypeError:
            return
        assert found.dtype.kind != "f" or np.isnan(found), operands


@pytest.mark.parametrize(
    "op", [op for op in elementwise() if "outside" in vars(op) or op.label in LOOSE], ids=str
)
def test_ops_are_nan_outside_their_domains_and_nowhere_else(op: Elementwise) -> None:
    for point in itertools.product(PROBES, repeat=op.arity):
        x = [np.float64(value) for value in point]
        with np.errstate(all="ignore"):
            found, outside = op.function(*x), op.outside(*x)
        if op.label not in POLES:
            assert bool(np.isnan(found)) == bool(outside), point


def test_rows_show_nan() -> None:
    draw = np.random.default_rng(0)
    seen = 0
    for cls in [*subclasses(RowsOp), *subclasses(Reduction), Unit]:
        for count in (1, 2):
            if cls.__dict__.get("__props__", ("axes",)) != ("axes",):
                continue
            operands = [draw.uniform(0.2, 0.9, (2, 3)) for _ in range(count)]
            symbols = [rg.symbol(name, (2, 3)) for name in "xy"[:count]]
            try:
                op: Op = cls((-1,))
                node = op(*symbols).term
                op(*operands)
            except Exception:
                continue
            if node.type.dtype.kind != "f" or len(node.rands) != count or not node.op.strict(node):
                continue
            seen += 1
            for i in range(count):
                given = [x.copy() for x in operands]
                given[i][0, 1] = NAN
                assert np.isnan(op(*given)).all(axis=1).tolist() == [True, False], (cls, i)
    assert seen > 8


# Reach


def test_reach_is_told_by_axes() -> None:
    x = rg.symbol("x", (4, 3))
    share = x / np.sum(x, axis=1, keepdims=True)
    row, total = np.sum(x, axis=1, keepdims=True), np.sum(x)
    does = Reach([share.term, row.term, total.term], certain=True).of
    assert {m.pattern for m in does[share.term]} == {(0, 1), (0, None)}
    assert {m.pattern for m in does[total.term]} == {()}
    (own,) = Reach([x.term], certain=False).of[x.term]
    assert covered(own, does[share.term]) and covered(own, does[row.term])
    (whole,) = does[total.term]
    assert not covered(whole._replace(pattern=(None, None)), does[share.term])


def test_a_difference_that_leaves_the_range_leaves_the_domain_as_well():
    """log(y − e^x²) is NaN where e^x² overflows: −∞ is less than zero, by more than rounding."""
    fun = lambda x: np.log(1.0 - np.exp(x * x)) / np.log(1.0 - np.exp(x * x))
    with np.errstate(all="ignore"):
        assert np.isnan(rg.stabilize(fun)(np.array([2.0, 800.0]))).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    "f",
    [
        lambda t, k: k / (2 - k) * (np.exp(-k * t) - np.exp(-2 * t)),
        lambda t, k: 1 / np.sqrt(1 - k / t) - 1,
        lambda t, k: k / (1 + t) + k / (1 - t) - 2 * k,
        lambda t, k: np.log(k / t),
        lambda t, k: (1.05 + k) ** 5 / (1 + t) ** 5 - 1,
        lambda t, k: {"a": [t - k, np.log(1 - k / t)]},
    ],
)
def test_what_is_a_number_at_infinity_as_written_is_one(f: Any, sign: float) -> None:
    """f̃(∞) = f(∞) where f̃ is NaN and f is not: equations hold for numbers, and t·(1 − e⁻ᵃᵗ)/(at) is 1/a at t = ∞."""
    for t, k in [(sign * np.inf, 0.3), (np.array([2.0, sign * np.inf]), np.array([0.3, 0.5]))]:
        with np.errstate(all="ignore"):
            written = f(np.asarray(t)[()], np.asarray(k)[()])
            for how in ({}, {"strategy": "eager"}, {"precise": False}):
                made = rg.stabilize(f, **how)(t, k)
                for x, y in zip(parts(made), parts(written), strict=True):
                    np.testing.assert_allclose(x, y, rtol=1e-12)
        assert type(made) is type(written)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.tanh(x / y) / x,
        lambda x, y: (1 - np.exp(-x / y)) / x**2,
        lambda x, y: np.arctan(x / (y - 1)) / x,
        lambda x, y: np.minimum(2.0, x / y) / x,
        lambda x, y: (x / y - 2) ** 2 - (x + y) ** 2,
    ],
)
def test_what_is_a_number_beside_a_pole_as_written_is_one(f: Any) -> None:
    """f̃(0) = f(0) where f̃ is NaN and f is not: tanh(x/y)/x is 1/x at y = 0, but not as tanh(z)/z · 1/y of z = x/y."""
    for x, y in [(0.5, 0.0), (0.5, 1.0), (np.array([0.5, 2.0, 1e-9]), np.array([0.0, 3.0, 1.0]))]:
        with np.errstate(all="ignore"):
            written = f(np.asarray(x)[()], np.asarray(y)[()])
            for how in ({}, {"strategy": "eager"}, {"precise": False}, {"validate": False}):
                np.testing.assert_allclose(rg.stabilize(f, **how)(x, y), written, rtol=1e-7)


def test_a_derivative_at_infinity_is_what_the_chain_rule_makes_of_it() -> None:
    decay = lambda t: 0.3 / 0.7 * (np.exp(-0.3 * t) - np.exp(-t))
    assert rg.grad(decay)(np.inf) == 0.0
    assert rg.grad(lambda x: np.sum(decay(x)))(np.array([np.inf, 1.0]))[0] == 0.0


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("shape", [(1,), (2, 1)])
@pytest.mark.parametrize(
    "f",
    [
        np.cov,
        lambda x: (x - x) * np.inf,
        lambda x: x / 0.0 * 0,
        lambda x: np.sum(0 * (x * np.inf), axis=0),
        lambda x: (x - x) * np.array([1.0, np.inf]),
        lambda x: x / 0.0 - x / 0.0,
        lambda x: np.inf * x + x - np.inf * x,
    ],
)
def test_nothing_times_infinity_is_not_nothing(f: Any, shape: Any, strategy: str) -> None:
    """0·∞, ∞ − ∞: the covariance of one observation is a sum of no distances, 0, over 0."""
    x = np.linspace(2.0, 3.0, math.prod(shape)).reshape(shape)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(rg.stabilize(f, strategy=strategy)(x), f(x))


@pytest.mark.parametrize(
    "mean",
    [
        lambda x: np.mean(x, axis=1, where=x > 0),
        lambda x: np.nanmean(np.where(x > 0, x, np.nan), axis=1),
        lambda x: np.sum(np.where(x > 0, x, 0), axis=1) / np.sum(x > 0, axis=1),
        lambda x: np.sum((x > 0) * x, axis=1) / np.sum(np.where(x > 0, 1.0, 0.0), axis=1),
        lambda x: np.bincount([0, 0, 1, 1], (x * (x > 0)).ravel()) / np.bincount([0, 0, 1, 1], x.ravel() > 0),
    ],
)
def test_the_mean_of_nothing_is_not_a_number(mean: Any) -> None:
    """0/0 by a count, which is 0 nearby as well, has no limit; where a mask excludes it, nothing is asked."""
    x = np.array([[1.0, 3.0], [-1.0, -2.0]])
    np.testing.assert_array_equal(rg.stabilize(mean)(x), [mean(x[:1].repeat(2, 0))[0], np.nan])
    guarded = lambda x: np.where(np.sum(x > 0, axis=1) > 0, mean(x), 7.0)
    np.testing.assert_array_equal(rg.stabilize(guarded)(x), [mean(x[:1].repeat(2, 0))[0], 7.0])
    slope = rg.grad(lambda x: np.sum(guarded(x)))(x)
    np.testing.assert_array_equal(slope != 0, [x[0] > 0, [False, False]])


def test_a_count_that_is_guarded_costs_nothing() -> None:
    def f(x):
        n = np.sum(x > 0)
        return np.where(n > 0, np.sum(np.where(x > 0, x, 0)) / n, 0.0)

    assert "keeps_nan" not in rg.stabilize(f).source(np.ones(3))


def test_what_nan_is_replaced_by_as_written_replaces_it() -> None:
    assert rg.stabilize(lambda x: np.where(np.isnan(x / x), 5.0, x))(np.nan) == 5.0


def test_results_are_looked_through_for_nan_once(monkeypatch):
    f = rg.value_and_grad(lambda x, y: np.sum((x - 2 * y) ** 2) + np.log(np.sum(np.exp(x))))
    x = np.array([1.0, -2.0, 0.5])
    f(x, x + 1)
    looks = []
    monkeypatch.setattr(undefined, "has_nan", lambda found: looks.append(found) or has_nan(found))
    f(x, x + 1)
    assert not looks
    f(np.array([1.0, np.nan, 0.5]), x)
    assert looks


def test_a_mean_whose_count_is_asked_needs_no_test():
    def mean(x):
        n = np.sum(x > 0)
        return np.where(n == 0, 0.0, np.sum(np.where(x > 0, x, 0)) / n)

    f = rg.stabilize(mean)
    assert f(-np.ones(2)) == 0 and f(np.ones(2)) == 1
    assert "keeps_nan" not in f.source(np.ones(2))
