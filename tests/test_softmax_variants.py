"""Softmax, log-softmax, log-sum-exp and the logistic in every spelling: one law, finite and right at any scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import relgrad as rg

SCALES = [1.0, 1e3, 1e9, 1e18]
STRATEGIES = ["default", "eager"]
TOLERANCE = {"float64": 1e-11, "float32": 3e-5}
SOFTMAX = {"normalized_exponential", "weighted_normalized_exponential", "log_of_normalized"}

AXES = [
    ((4,), None),
    ((4,), -1),
    ((4,), 0),
    ((4,), (0,)),
    ((2, 3), None),
    ((2, 3), -1),
    ((2, 3), 0),
    ((2, 3), 1),
    ((2, 3), (0, 1)),
    ((2, 3), (1,)),
    ((2, 3, 4), None),
    ((2, 3, 4), 0),
    ((2, 3, 4), 1),
    ((2, 3, 4), -1),
    ((2, 3, 4), (0, 1)),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (-1, -2)),
    ((2, 3, 4), (0, 1, 2)),
]


def kept(shape, axis):
    return np.sum(np.zeros(shape), axis=axis, keepdims=True).shape


def indexer(shape, axis):
    """The subscript that puts the summed axes back, as in s[:, None]."""
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % len(shape)
    return tuple(None if k in axes else slice(None) for k in range(len(shape)))


def axes_of(shape, axis):
    return tuple(range(len(shape))) if axis is None else axis


# How the sum is put back beside what it normalizes: (array, its shape, axis) -> the sum, broadcastable.
SUMS = {
    "keepdims": lambda e, shape, axis: np.sum(e, axis=axis, keepdims=True),
    "method": lambda e, shape, axis: e.sum(axis=axis, keepdims=True),
    "subscript": lambda e, shape, axis: np.sum(e, axis=axis)[indexer(shape, axis)],
    "expand_dims": lambda e, shape, axis: np.expand_dims(np.sum(e, axis=axis), axes_of(shape, axis)),
    "reshape": lambda e, shape, axis: np.reshape(np.sum(e, axis=axis), kept(shape, axis)),
    "reshape method": lambda e, shape, axis: e.sum(axis).reshape(kept(shape, axis)),
}

# (e, S, g) -> a factor times e / S, and the factor.
QUOTIENTS = {
    "e / S": (lambda e, s, g: e / s, lambda g: 1.0),
    "np.divide(e, S)": (lambda e, s, g: np.divide(e, s), lambda g: 1.0),
    "e * (1 / S)": (lambda e, s, g: e * (1 / s), lambda g: 1.0),
    "(1 / S) * e": (lambda e, s, g: (1 / s) * e, lambda g: 1.0),
    "e * S**-1": (lambda e, s, g: e * s**-1, lambda g: 1.0),
    "e * np.power(S, -1.0)": (lambda e, s, g: e * np.power(s, -1.0), lambda g: 1.0),
    "e * np.reciprocal(S)": (lambda e, s, g: e * np.reciprocal(s), lambda g: 1.0),
    "np.multiply(np.reciprocal(S), e)": (lambda e, s, g: np.multiply(np.reciprocal(s), e), lambda g: 1.0),
    "g * e / S": (lambda e, s, g: g * e / s, lambda g: g),
    "e * g / S": (lambda e, s, g: e * g / s, lambda g: g),
    "g * (e / S)": (lambda e, s, g: g * (e / s), lambda g: g),
    "e / S * g": (lambda e, s, g: e / s * g, lambda g: g),
    "e * (g / S)": (lambda e, s, g: e * (g / s), lambda g: g),
    "(g / S) * e": (lambda e, s, g: (g / s) * e, lambda g: g),
    "g * e * S**-1": (lambda e, s, g: g * e * s**-1, lambda g: g),
    "g * (e * (1 / S))": (lambda e, s, g: g * (e * (1 / s)), lambda g: g),
    "e / (S * g)": (lambda e, s, g: e / (s * g), lambda g: 1 / g),
    "e / (g * S)": (lambda e, s, g: e / (g * s), lambda g: 1 / g),
    "e / S / g": (lambda e, s, g: e / s / g, lambda g: 1 / g),
    "e / g / S": (lambda e, s, g: e / g / s, lambda g: 1 / g),
    "g / (S / e)": (lambda e, s, g: g / (s / e), lambda g: g),
    "2 * e / S": (lambda e, s, g: 2 * e / s, lambda g: 2.0),
    "e / S * 2": (lambda e, s, g: e / s * 2, lambda g: 2.0),
    "e * (2 / S)": (lambda e, s, g: e * (2 / s), lambda g: 2.0),
    "-e / S": (lambda e, s, g: -e / s, lambda g: -1.0),
    "-(e / S)": (lambda e, s, g: -(e / s), lambda g: -1.0),
    "e / -S": (lambda e, s, g: e / -s, lambda g: -1.0),
    "e / S / 2": (lambda e, s, g: e / s / 2, lambda g: 0.5),
    "e / (2 * S)": (lambda e, s, g: e / (2 * s), lambda g: 0.5),
    "g * (2 * e) / S / 3": (lambda e, s, g: g * (2 * e) / s / 3, lambda g: 2 * g / 3),
    "-g * e / (3 * S)": (lambda e, s, g: -g * e / (3 * s), lambda g: -g / 3),
}


def draw(shape, scale, dtype="float64", seed=0):
    """Inputs with ties, so that no law holds only because everything underflows, cotangents and factors."""
    rng = np.random.default_rng(seed)
    x = scale * rng.choice([-1.0, 0.5, 1.0], size=shape) + rng.normal(size=shape)
    w, v = rng.normal(size=(2, *shape))
    g = rng.uniform(0.5, 2.0, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    return tuple(np.asarray(a, dtype) for a in (x, g, w, v))


def centred(p, g, axis):
    return g - np.sum(p * g, axis=axis, keepdims=True)


def pulled(p, g, axis):
    """p (g − ⟨g⟩): the cotangent g pulled back through a softmax."""
    return p * centred(p, g, axis)


def pulled_twice(p, g, v, axis):
    """The derivative of p (g − ⟨g⟩) along v."""
    return pulled(p, centred(p, g, axis) * centred(p, v, axis), axis)


def close(got, want, dtype="float64", what=""):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == dtype, (what, got.dtype)
    assert got.shape == want.shape, (what, got.shape)
    assert np.all(np.isfinite(got)), (what, got, want)
    rtol = TOLERANCE[dtype]
    scale = 1 + np.max(np.abs(want)) if np.max(np.abs(want)) < 1e2 else 1.0
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale, err_msg=what)


def check(f, x, w, value, first, second=None, v=None, relations=frozenset()):
    """The value, the gradient of Σ w f by both strategies and its derivative along v are finite and right."""
    dtype = x.dtype.name
    stable = rg.stabilize(f)
    close(stable(x), value, dtype, "value")
    if relations:
        assert relations & set(stable.explain(x).relations), stable.explain(x).relations
    loss = lambda x: np.sum(w * f(x))
    for strategy in STRATEGIES:
        close(rg.grad(loss, strategy=strategy)(x), first, dtype, f"gradient, {strategy}")
    if second is not None:
        gradient = rg.grad(loss)
        close(rg.grad(lambda x: np.sum(v * gradient(x)))(x), second, dtype, "second order")


def check_softmax(f, x, factor, w, v, axis, *, temperature=1, offset=0.0, second=True):
    """f = factor · softmax(x / temperature + offset)."""
    p = special.softmax(np.float64(x / x.dtype.type(temperature)) + offset, axis=axis)
    g, t = np.float64(factor) * w, temperature
    twice = pulled_twice(p, g, v, axis) / t**2 if second else None
    check(f, x, w, factor * p, pulled(p, g, axis) / t, twice, v, SOFTMAX)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("quotient", QUOTIENTS)
def test_a_quotient_however_its_factors_stand(quotient, scale):
    form, factor = QUOTIENTS[quotient]
    for shape, axis in [((4,), None), ((2, 3), -1), ((2, 3, 4), (0, 2))]:
        x, g, w, v = draw(shape, scale)

        def shared(x, axis=axis, g=g):
            e = np.exp(x)
            return form(e, np.sum(e, axis=axis, keepdims=True), g)

        apart = lambda x, axis=axis, g=g: form(np.exp(x), np.exp(x).sum(axis=axis, keepdims=True), g)
        for f in (shared, apart):
            check_softmax(f, x, factor(g), w, v, axis)


@pytest.mark.parametrize("scale", [1e3, 1e18])
@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize(("shape", "axis"), AXES)
def test_a_sum_however_it_is_put_back(shape, axis, kind, scale):
    x, g, w, v = draw(shape, scale)
    for quotient in ("e / S", "e * S**-1", "g * e / S", "e * (g / S)"):
        form, factor = QUOTIENTS[quotient]
        f = lambda x, form=form: form(np.exp(x), SUMS[kind](np.exp(x), shape, axis), g)
        check_softmax(f, x, factor(g), w, v, axis, second=False)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 4)])
def test_a_total_needs_no_axis(shape):
    x, g, w, v = draw(shape, 1e3)
    check_softmax(lambda x: np.exp(x) / np.sum(np.exp(x)), x, 1.0, w, v, None)
    check_softmax(lambda x: g * np.exp(x) / np.exp(x).sum(), x, g, w, v, None)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from(AXES),
    st.sampled_from(sorted(SUMS)),
    st.sampled_from(sorted(QUOTIENTS)),
    st.sampled_from([1e3, 1e6, 1e12, 1e18]),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 99),
)
def test_any_mixture(where, kind, quotient, scale, dtype, seed):
    shape, axis = where
    x, g, w, v = draw(shape, scale, dtype, seed)
    form, factor = QUOTIENTS[quotient]
    f = lambda x: form(np.exp(x), SUMS[kind](np.exp(x), shape, axis), g)
    check_softmax(f, x, factor(g), w, v, axis)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("quotient", ["e / S", "g * e / S", "e * (g / S)", "-e / S", "e / S / 2"])
def test_shifts_temperatures_and_weights(quotient, scale):
    form, factor = QUOTIENTS[quotient]
    over = lambda e, g: form(e, np.sum(e, axis=-1, keepdims=True), g)
    x, g, w, v = draw((2, 4), scale)
    k = np.array([0.5, 2.0, 1.0, 3.0])
    check_softmax(lambda x: over(np.exp(x - 700.0), g), x, factor(g), w, v, -1)
    check_softmax(lambda x: over(np.exp(x + np.log(k)), g), x, factor(g), w, v, -1, offset=np.log(k))
    check_softmax(lambda x: over(np.exp(x - np.max(x, axis=-1, keepdims=True)), g), x, factor(g), w, v, -1)
    check_softmax(lambda x: over(np.exp(x / 0.25), g), x, factor(g), w, v, -1, temperature=0.25)
    check_softmax(lambda x: over(np.exp(2 * x), g), x, factor(g), w, v, -1, temperature=0.5)
    check_softmax(lambda x: over(np.exp(-x), g), x, factor(g), w, v, -1, temperature=-1)
    check_softmax(lambda x: over(k * np.exp(x), g), x, factor(g), w, v, -1, offset=np.log(k))
    check_softmax(lambda x: over(np.exp(x) * k, g), x, factor(g), w, v, -1, offset=np.log(k))
    check_softmax(lambda x: over(np.exp(x) / k, g), x, factor(g), w, v, -1, offset=-np.log(k))


MEANS = {
    "sum(f e) / sum(e)": lambda e, f, axis: np.sum(f * e, axis=axis) / np.sum(e, axis=axis),
    "sum(e f) / sum(e)": lambda e, f, axis: np.sum(e * f, axis=axis) / e.sum(axis=axis),
    "sum(f e / S)": lambda e, f, axis: np.sum(f * e / np.sum(e, axis=axis, keepdims=True), axis=axis),
    "sum(f e) * (1 / S)": lambda e, f, axis: np.sum(f * e, axis=axis) * (1 / np.sum(e, axis=axis)),
    "sum(f e) * S**-1": lambda e, f, axis: np.sum(f * e, axis=axis) * np.sum(e, axis=axis) ** -1,
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("mean", MEANS)
def test_a_mean_under_the_softmax(mean, scale):
    for shape, axis in [((4,), None), ((2, 3), -1), ((2, 3), 0), ((2, 3, 4), (0, 2))]:
        x, f, _, v = draw(shape, scale)
        p = special.softmax(x, axis=axis)
        value = np.sum(f * p, axis=axis)
        check(
            lambda x, f=f, axis=axis: MEANS[mean](np.exp(x), f, axis),
            x,
            np.float64(1.5),
            value,
            1.5 * pulled(p, f, axis),
            1.5 * pulled_twice(p, f, v, axis),
            v,
            SOFTMAX,
        )
