"""Softmax, log-softmax, log-sum-exp and the logistic in every spelling: one law, finite and right at any scale."""

from __future__ import annotations

import warnings
from functools import partial
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import relgrad as rg

SCALES = (1.0, 1e3, 1e9, 1e18)
STRATEGIES = ("default", "eager")
TOLERANCE = {"float64": 1e-11, "float32": 3e-5}
SOFTMAX = {"normalized_exponential", "quotient_in_the_log_domain"}

AXES = [
    *(((4,), axis) for axis in (None, -1, 0, (0,))),
    *(((2, 3), axis) for axis in (None, -1, 0, 1, (1,), (0, 1))),
    *(((2, 3, 4), axis) for axis in (None, 0, 1, -1, (0, 1), (0, 2), (-1, -2), (0, 1, 2))),
]


def kept(shape, axis):
    return np.sum(np.zeros(shape), axis=axis, keepdims=True).shape


def indexer(shape, axis):
    """The subscript that puts the summed axes back, as in s[:, None]."""
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % len(shape)
    return tuple(None if k in axes else slice(None) for k in range(len(shape)))


# How the sum is put back beside what it normalizes: (array, its shape, axis) -> the sum, broadcastable.
SUMS = {
    "keepdims": lambda e, shape, axis: np.sum(e, axis=axis, keepdims=True),
    "method": lambda e, shape, axis: e.sum(axis=axis, keepdims=True),
    "subscript": lambda e, shape, axis: np.sum(e, axis=axis)[indexer(shape, axis)],
    "expand_dims": lambda e, shape, axis: np.expand_dims(
        np.sum(e, axis=axis), tuple(range(len(shape))) if axis is None else axis
    ),
    "no axis": lambda e, shape, axis: np.sum(e) if axis is None else np.sum(e, axis, keepdims=True),
    "reshape": lambda e, shape, axis: np.reshape(np.sum(e, axis=axis), kept(shape, axis)),
    "reshape method": lambda e, shape, axis: e.sum(axis).reshape(kept(shape, axis)),
}

# The factor of e / S, and the ways of writing the product.
FACTORS = {
    "1": "e / S; np.divide(e, S); e * (1 / S); (1 / S) * e; e * S**-1; e * np.power(S, -1.0);"
    "e * np.reciprocal(S); np.multiply(np.reciprocal(S), e)",
    "g": "g * e / S; e * g / S; g * (e / S); e / S * g; e * (g / S); (g / S) * e; g * e * S**-1;"
    "g * (e * (1 / S)); g / (S / e)",
    "1 / g": "e / (S * g); e / (g * S); e / S / g; e / g / S",
    "2": "2 * e / S; e / S * 2; e * (2 / S)",
    "-1": "-e / S; -(e / S); e / -S",
    "1 / 2": "e / S / 2; e / (2 * S)",
    "g * 2 / 3": "g * (2 * e) / S / 3",
    "-g / 3": "-g * e / (3 * S)",
}


def typed(arguments, text):
    """The function that computes what the text says."""
    return eval(f"lambda {arguments}: {text}", globals())


def listed(table):
    """{law: "form; form"} turned round: {form: law}."""
    return {form.strip(): law for law, forms in table.items() for form in forms.split(";")}


QUOTIENTS = {form: (typed("e, S, g", form), typed("g", factor)) for form, factor in listed(FACTORS).items()}


def draw(shape, dtype="float64", seed=0):
    """Inputs at every scale, with ties: no law holds only because everything underflows; and cotangents."""
    rng = np.random.default_rng(seed)
    xs = [a * rng.choice([-1.0, 0.5, 1.0], size=shape) + rng.normal(size=shape) for a in SCALES]
    w, v = rng.normal(size=(2, *shape))
    g = rng.uniform(0.5, 2.0, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    return [np.asarray(x, dtype) for x in xs], *(np.asarray(a, dtype) for a in (g, w, v))


def centred(p, g, axis):
    return g - np.sum(p * g, axis=axis, keepdims=True)


def pulled(p, g, axis):
    """p (g − ⟨g⟩): the cotangent g pulled back through a softmax."""
    return p * centred(p, g, axis)


def pulled_twice(p, g, v, axis):
    """The derivative of p (g − ⟨g⟩) along v."""
    return pulled(p, centred(p, g, axis) * centred(p, v, axis), axis)


def close(got, want, dtype, what):
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (dtype, want.shape), what
    assert np.all(np.isfinite(got)), (what, got, want)
    rtol = TOLERANCE[dtype]
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol, err_msg=what)


def check(f, xs, w, v, law, *, relations=frozenset(), twice=True):
    """The value, the gradient of Σ w f by both strategies and its derivative along v; law(x) gives all three."""
    stable, loss = rg.stabilize(f), lambda x: np.sum(w * f(x))
    gradients = {strategy: rg.grad(loss, strategy=strategy) for strategy in STRATEGIES}
    second = rg.grad(lambda x: np.sum(v * gradients["default"](x)))
    for x in xs:
        value, first, along = law(x)
        dtype = x.dtype.name
        close(stable(x), value, dtype, f"value at {x}")
        for strategy in STRATEGIES:
            close(gradients[strategy](x), first, dtype, f"gradient, {strategy}, at {x}")
        if twice:
            close(second(x), along, dtype, f"second order at {x}")
    if relations:
        assert relations & set(stable.explain(xs[0]).relations), stable.explain(xs[0]).relations


def check_softmax(f, xs, factor, w, v, axis, *, slope=1.0, exponent=lambda x: x, weights=1.0, twice=True):
    """f = factor · softmax(exponent(x)) with weights, the exponent linear of that slope."""

    def law(x):
        p = weights * special.softmax(np.float64(exponent(x)), axis=axis)
        p = p / np.sum(p, axis=axis, keepdims=True)
        g = factor * np.float64(w)
        return factor * p, pulled(p, g, axis) * slope, pulled_twice(p, g, v, axis) * slope**2

    check(f, xs, w, v, law, relations=SOFTMAX, twice=twice)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("quotient", QUOTIENTS)
def test_a_quotient_however_its_factors_stand(quotient):
    form, factor = QUOTIENTS[quotient]
    for shape, axis in [((4,), None), ((2, 3), -1), ((2, 3, 4), (0, 2))]:
        x, g, w, v = draw(shape)

        def shared(x, axis=axis, g=g):
            e = np.exp(x)
            return form(e, np.sum(e, axis=axis, keepdims=True), g)

        apart = lambda x, axis=axis, g=g: form(np.exp(x), np.exp(x).sum(axis=axis, keepdims=True), g)
        for f in (shared, apart):
            check_softmax(f, x, factor(g), w, v, axis, twice=f is shared)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("kind", SUMS)
@pytest.mark.parametrize(("shape", "axis"), AXES)
def test_a_sum_however_it_is_put_back(shape, axis, kind):
    x, g, w, v = draw(shape)
    for quotient in ("e * S**-1", "g * e / S"):
        form, factor = QUOTIENTS[quotient]
        f = lambda x, form=form: form(np.exp(x), SUMS[kind](np.exp(x), shape, axis), g)
        check_softmax(f, x, factor(g), w, v, axis, twice=False)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.sampled_from(AXES),
    st.sampled_from(sorted(SUMS)),
    st.sampled_from(sorted(QUOTIENTS)),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 99),
)
def test_any_mixture(where, kind, quotient, dtype, seed):
    shape, axis = where
    x, g, w, v = draw(shape, dtype, seed)
    form, factor = QUOTIENTS[quotient]
    f = lambda x: form(np.exp(x), SUMS[kind](np.exp(x), shape, axis), g)
    check_softmax(f, x, factor(g), w, v, axis)


K = np.array([0.5, 2.0, 1.0, 3.0])
EXPONENTIALS = {
    "exp(x - 700)": (lambda x: np.exp(x - 700.0), {"exponent": lambda x: x - 700.0}),
    "exp(x + log k)": (lambda x: np.exp(x + np.log(K)), {"exponent": lambda x: x + np.log(K)}),
    "exp(x - max x)": (lambda x: np.exp(x - np.max(x, axis=-1, keepdims=True)), {}),
    "exp(x / T)": (lambda x: np.exp(x / 0.25), {"exponent": lambda x: x / 0.25, "slope": 4.0}),
    "exp(2 x)": (lambda x: np.exp(2 * x), {"exponent": lambda x: 2 * x, "slope": 2.0}),
    "exp(-x)": (lambda x: np.exp(-x), {"exponent": lambda x: -x, "slope": -1.0}),
    "k exp(x)": (lambda x: K * np.exp(x), {"weights": K}),
    "exp(x) k": (lambda x: np.exp(x) * K, {"weights": K}),
    "exp(x) / k": (lambda x: np.exp(x) / K, {"weights": 1 / K}),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("exponential", EXPONENTIALS)
def test_shifts_temperatures_and_weights(exponential):
    e, law = EXPONENTIALS[exponential]
    x, g, w, v = draw((2, 4))
    for quotient in ("e / S", "g * e / S", "e * (g / S)", "-e / S", "e / S / 2"):
        form, factor = QUOTIENTS[quotient]
        f = lambda x, form=form: form(e(x), np.sum(e(x), axis=-1, keepdims=True), g)
        check_softmax(f, x, factor(g), w, v, -1, **law)


# f under the softmax, with T(e) the sum of e along the axis and K(e) the same with the axis kept.
MEANS = "T(f * e) / T(e); T(e * f) / T(e); T(f * e / K(e)); T(f * e) * (1 / T(e)); T(f * e) * T(e) ** -1"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mean", MEANS.split("; "))
def test_a_mean_under_the_softmax(mean):
    for shape, axis in [((4,), None), ((2, 3), -1), ((2, 3), 0), ((2, 3, 4), (0, 2))]:
        x, f, _, v = draw(shape)

        def law(x, f=f, v=v, axis=axis):
            p = special.softmax(x, axis=axis)
            return np.sum(f * p, axis=axis), 1.5 * pulled(p, f, axis), 1.5 * pulled_twice(p, f, v, axis)

        T, K = (partial(np.sum, axis=axis, keepdims=kept) for kept in (False, True))
        form = typed("e, f, T, K", mean)
        mass = lambda x, form=form, f=f, T=T, K=K: form(np.exp(x), f, T, K)
        check(mass, x, 1.5, v, law, relations=SOFTMAX)


total = lambda x: np.sum(np.exp(x), axis=-1, keepdims=True)
lse = lambda x: np.log(total(x))
softmax = lambda x: np.exp(x) / total(x)
ROWS, LABELS = np.arange(2), np.array([2, 0])
# Each reads y, the log-softmax.
LOGARITHMS = {
    "y": "np.log(softmax(x)); np.log(np.exp(x) / total(x)); np.log(np.exp(x) * (1 / total(x))); x - lse(x);"
    "x - np.log(np.sum(np.exp(x), axis=-1))[:, None]; -(lse(x) - x); np.log(np.exp(x)) - lse(x);"
    "-np.log(total(x) / np.exp(x))",
    "np.log(2.0) + y": "np.log(2.0 * softmax(x))",
    "y[1]": "np.log(softmax(x))[1]; np.log(softmax(x)[1])",
    "y[:, 1]": "np.log(softmax(x))[:, 1]; np.log(softmax(x)[:, 1])",
    "y[ROWS, LABELS]": "np.log(softmax(x))[ROWS, LABELS]; np.log(softmax(x)[ROWS, LABELS])",
    "-np.mean(y[ROWS, LABELS])": "-np.mean(np.log(softmax(x))[ROWS, LABELS]);"
    "-np.mean(np.log(softmax(x)[ROWS, LABELS])); np.mean(-(x - lse(x))[ROWS, LABELS])",
    "np.mean(y, axis=0)": "np.mean(np.log(softmax(x)), axis=0)",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("form", "law"), listed(LOGARITHMS).items())
def test_the_log_of_a_softmax(form, law, dtype):
    f, read = typed("x", form), typed("y", law)
    x, _, _, v = draw((2, 4), dtype)
    basis = np.eye(8).reshape(8, 2, 4)

    def law(x):
        exact = np.float64(x)
        p = special.softmax(exact, axis=-1)
        w = np.array([np.sum(read(b) - read(0 * b)) for b in basis]).reshape(2, 4)  # Σ read, as a cotangent
        total = np.sum(w, axis=-1, keepdims=True)
        return read(special.log_softmax(exact, axis=-1)), w - p * total, -total * pulled(p, v, -1)

    check(f, x, 1.0, v, law)


SUMS_OF_EXPONENTIALS = [
    "np.log(np.sum(np.exp(x), axis=-1))",
    "np.log(np.exp(x).sum(axis=-1))",
    "-np.log(1 / np.sum(np.exp(x), axis=-1))",
    "x.max(axis=-1) + np.log(np.sum(np.exp(x - x.max(axis=-1, keepdims=True)), axis=-1))",
    "np.squeeze(lse(x), axis=-1)",
]


@pytest.mark.parametrize("form", SUMS_OF_EXPONENTIALS)
def test_log_sum_exp(form):
    x, _, w, v = draw((2, 4))
    w = w[:, 0]

    def law(x):
        p = special.softmax(x, axis=-1)
        return special.logsumexp(x, axis=-1), p * w[:, None], pulled(p, v, -1) * w[:, None]

    check(typed("x", form), x, w, v, law)


def logistic(x):
    s = special.expit(x)
    d = s * special.expit(-x)
    return s, d, d * (special.expit(-x) - s)


def log_logistic(x):
    s = special.expit(-x)
    return special.log_expit(x), s, -s * special.expit(x)


def mirrored(law):
    return lambda x: tuple(a * b for a, b in zip(law(-x), (1, -1, 1), strict=True))


def negated(law):
    return lambda x: tuple(-a for a in law(x))


softplus = negated(mirrored(log_logistic))
LOGISTICS = {
    logistic: "1 / (1 + np.exp(-x)); 1 / (np.exp(-x) + 1); (1 + np.exp(-x))**-1; np.exp(x) / (1 + np.exp(x))",
    mirrored(logistic): "1 - 1 / (1 + np.exp(-x)); 1 - np.exp(x) / (1 + np.exp(x))",
    log_logistic: "np.log(1 / (1 + np.exp(-x))); np.log(np.exp(x) / (1 + np.exp(x)));"
    "-np.log(1 + np.exp(-x)); x - np.log(1 + np.exp(x))",
    mirrored(log_logistic): "np.log(1 - 1 / (1 + np.exp(-x))); np.log(1 - np.exp(x) / (1 + np.exp(x)))",
    softplus: "np.log(1 + np.exp(x)); np.log(np.exp(x) + 1); np.log1p(np.exp(x))",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", listed(LOGISTICS))
def test_the_logistic_and_its_logarithms(form, dtype):
    f, law = typed("x", form), listed(LOGISTICS)[form]
    x, _, w, v = draw((2, 4), dtype)

    def weighted(x):
        value, first, second = law(np.float64(x))
        return value, w * first, w * v * second

    check(f, x, w, v, weighted)


MINUS = np.array([-1.0])
# The gradient of Σ g softmax as an optimizer once printed it, https://github.com/aesara-devs/aesara/issues/682
PRINTED = [
    "e / S + np.sum((MINUS * e) / (S * S), axis=None) * e",
    "e * np.sum((MINUS * e) / (S * S)) + e / S",
    "e / S + np.sum(e * MINUS / S**2) * e",
    "e / S - np.sum(e / (S * S)) * e",
    "e / S + e * np.sum(e / (S * S) * MINUS)",
    "e / S + np.sum(MINUS * e / S / S) * e",
    "g * e / S + np.sum((MINUS * g * e) / (S * S), axis=None) * e",
    "(g / S) * e + e * np.sum((e * (MINUS * g)) / (S * S))",
    "e * (g / S) - np.sum(g * e / S**2) * e",
    "e / S * (g - np.sum(g * e) / S)",
]


@pytest.mark.parametrize("form", PRINTED)
def test_the_printed_gradient(form):
    expression = typed("e, S, g", form)
    g = np.array([0.5, -2.0, 3.0]) if "g" in form else np.ones(3)
    points = [
        np.array(p) for p in ([1e-18, 1e18, -1e18], [1e3, 1e3, 0.0], [0.1, -2.0, 1.0], [800.0, 801.0, 799])
    ]
    f = lambda x: expression(np.exp(x), np.sum(np.exp(x), axis=None), g)
    for strategy in STRATEGIES:
        stable = rg.stabilize(f, strategy=strategy)
        np.testing.assert_array_equal(stable(points[0]), np.zeros(3))
        for x in points:
            close(stable(x), pulled(special.softmax(x), g, None), "float64", f"{form}, {strategy}")


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 1)])
@pytest.mark.parametrize(
    "f",
    [
        lambda t: t - special.logsumexp(t, axis=-1, keepdims=True),
        lambda t: np.exp(t) / np.sum(np.exp(t), axis=-1, keepdims=True),
        lambda t: np.log(np.exp(t) / np.sum(np.exp(t), axis=-1, keepdims=True)),
    ],
)
def test_one_number_for_all_exponents_is_no_larger_than_its_place(f, shape):
    x = np.full(shape, 0.5)
    for program in (
        lambda x: f(np.sqrt(x - x)),
        lambda x: f(x[..., :1] * np.ones(3)),
        lambda x: x * f(1 + x - x),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error", rg.RelgradWarning)
            got = rg.stabilize(program)(x)
        np.testing.assert_allclose(got, program(x), rtol=1e-14, strict=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("distance", [1e-9, 1e-3, 1.0, 40.0])
def test_what_flows_to_near_logits_is_the_difference_of_their_softmaxes(distance, axis, strategy):
    def divergence(a, b, scale):
        p, q = (np.exp(z) / np.sum(np.exp(z), axis=axis, keepdims=True) for z in (a, b))
        return scale * np.mean(np.sum(p * np.log(p / q), axis=axis))

    rng = np.random.default_rng(0)
    a = 2 * rng.normal(size=(3, 4))
    b = a + distance * rng.normal(size=a.shape)
    with mpmath.workdps(40):
        p, q = (
            np.vectorize(mpmath.exp, otypes=[object])(z)
            / np.sum(np.vectorize(mpmath.exp, otypes=[object])(z), axis, keepdims=True)
            for z in (a, b)
        )
        want = np.array((q - p) * 0.7 / (3 if axis else 4), float)
    got = rg.grad(divergence, 1, strategy=strategy, precise=False)(a, b, 0.7)
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=0)


def test_attention_of_one_query_is_a_softmax():
    def read(q, k, v):
        s = k @ q
        a = np.exp(s) / np.sum(np.exp(s))
        return a @ v**2

    q, k, v = (
        np.array([30.0, 20.0]),
        np.array([[30.0, 1.0], [2.0, 40.0], [0.0, 3.0]]),
        np.array([3.0, 1.0, 2.0]),
    )
    assert "softmax(" in rg.stabilize(read).source(q, k, v)
    assert rg.stabilize(read, precise=False)(q, k, v) == 9.0


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("at", [0.0, 1e3, 1e6, 1e9])
def test_multiples_of_differences_stay_as_they_are_in_exponents(at, strategy):
    """0.3·(x - m) has digits that 0.3·x - 0.3·m has not, and that exponents need."""
    x = at + np.array([0.25, -1.5, 0.75, 1.125])

    def scaled(x):
        return 0.3 * (x - np.max(x))

    def softmax(x):
        return np.exp(scaled(x)) / np.sum(np.exp(scaled(x)))

    def of_two(x):
        return np.exp(scaled(x)) / (np.exp(scaled(x)) + np.exp(-scaled(x)))

    def log_sum(x):
        return np.log(np.sum(np.exp(scaled(x))))

    for f in (softmax, of_two, log_sum):
        np.testing.assert_allclose(rg.stabilize(f, strategy=strategy)(x), f(x), rtol=1e-14)


def balanced(cost):
    """Sinkhorn's scalings: u = a/(K @ v), v = b/(Kᵀ @ u), K = e^−c."""
    kernel = np.exp(-cost)
    v = np.ones(4, cost.dtype)
    for _ in range(5):
        u = 1 / (kernel @ v)
        v = 1 / (kernel.T @ u)
    return u[:, None] * kernel * v


def posterior(scores):
    """Forward and backward sums over the states of a chain, multiplied and normalised."""
    steps, emitted = np.exp(scores[:3]), np.exp(scores[3:])
    forward, backward = emitted[0], np.ones(3, scores.dtype)
    for k in (1, 2, 3):
        forward, backward = (forward @ steps) * emitted[k], steps @ (emitted[-k] * backward)
    return forward * backward / np.sum(forward * backward)


@pytest.mark.parametrize(("fun", "shape"), [(balanced, (3, 4)), (posterior, (7, 3))])
@pytest.mark.parametrize("size", [100.0, 2000.0])
def test_no_logarithm_is_formed_for_a_quotient(fun, shape, size):
    """A logarithm of a sum has an error of its own size, hundreds of units, which the quotient as written has not."""
    x = size * np.random.default_rng(0).normal(size=shape)
    expected = fun(x.astype(np.longdouble)).astype(float)
    for precise in (True, False):
        found = rg.stabilize(fun, precise=precise)(x)
        np.testing.assert_allclose(found, expected, rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize("scale", [1.0, 300.0, 900.0])
@pytest.mark.parametrize("power", [-0.3, 1e-9, 0.5, 2.0])
@pytest.mark.parametrize("precise", [True, False])
def test_powers_of_shares_are_read_in_the_log_domain(scale, power, precise):
    """log Σ pᵃ = logsumexp(a·log p): a share that is no float has powers that are."""
    z = scale * np.array([0.3, -1.2, 2.0, 0.7])
    share = lambda z: np.exp(z) / np.exp(z).sum()
    with mpmath.workdps(1500):
        e = [mpmath.exp(mpmath.mpf(v)) for v in z]
        powers = [(v / sum(e)) ** mpmath.mpf(power) for v in e]
        total, mean = mpmath.log(sum(powers)), sum(k * v for k, v in enumerate(powers)) / sum(powers)
    k = np.arange(4.0)
    for f, want in (
        (lambda z, a: np.log(np.sum(share(z) ** a)), total),
        (lambda z, a: np.sum(k * share(z) ** a) / np.sum(share(z) ** a), mean),
        (lambda z, a: share(z) ** a, powers),
    ):
        got = rg.stabilize(f, precise=precise)(z, power)
        np.testing.assert_allclose(got, np.asarray(want, dtype=float), rtol=2e-13, atol=1e-300)


def _shares(z, axis):
    e = np.exp(z)
    return e / np.sum(e, axis=axis, keepdims=True)


OFFSETS = {
    "share": lambda z, axis: np.sum(_shares(z, axis) ** 2),
    "log of a share": lambda z, axis: np.sum((z - np.log(np.sum(np.exp(z), axis=axis, keepdims=True))) ** 2),
    "slope of log Σ eᶻ": lambda z, axis: np.sum(
        rg.grad(lambda z: np.sum(np.log(np.sum(np.exp(z), axis=axis))))(z) ** 2
    ),
    "deviations": lambda z, axis: np.sum(np.abs(z - np.mean(z, axis=axis, keepdims=True)) ** 3),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize(("shape", "axis"), [*AXES, ((1, 3), -1), ((2, 1), -1), ((2, 1, 3), (0, 2))])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_offset_that_is_the_same_along_the_axes_changes_nothing(strategy, shape, axis, name):
    """f(x + c) = f(x): whatever the size of c, in value and in what flows to x and c."""
    rng = np.random.default_rng(7)
    x, f = rng.normal(size=shape), OFFSETS[name]
    value, slope = rg.value_and_grad(f, strategy=strategy)(x, axis)
    for offset in (lambda x, c: x - c * c, lambda x, c: -(c - x) + 3.0 * c):
        moved = rg.value_and_grad(lambda x, c, o=offset: f(o(x, c), axis), argnums=(0, 1), strategy=strategy)
        for size in (0.5, 1e20, -1e150):
            c = size * rng.uniform(1, 2, kept(shape, axis))
            found, (to_x, to_c) = moved(x, c)
            close(found, value, "float64", "value")
            close(to_x, slope, "float64", "flow to x")
            close(to_c, np.zeros_like(c), "float64", "flow to c")


def test_an_offset_stays_where_digits_would_be_lost_without_it():
    """softmax(k·(x − c)): c takes off what the digits of a product stand beside; nor is NaN an offset."""
    x = 1e9 + np.array([0.25, -1.5, 0.75])
    for k in (0.3, 1 / 3):
        f = lambda x, k=k: special.softmax(k * (x - np.max(x)))
        np.testing.assert_allclose(rg.stabilize(f, precise=False)(x), f(x), rtol=1e-15)
    nan = lambda x: np.where(np.sum(x) > 0, np.nan, 0.0)
    assert np.isnan(rg.stabilize(lambda x: special.softmax(x + nan(x)))(x)).all()


DISPLACED = {
    "log-softmax": lambda z, axis: special.log_softmax(z, axis=axis),
    "deviations": lambda z, axis: z - np.mean(z, axis=axis, keepdims=True),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("displaced", DISPLACED)
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (2, 3, 2)])
@pytest.mark.parametrize(("inner", "outer"), [(-1, -1), (0, -1), ((0, 1), 0), (0, (0, 1))])
def test_an_offset_that_an_op_takes_off_changes_nothing_along_its_axes_alone(
    inner, outer, shape, displaced, name
):
    """softmax(log_softmax(x)) = softmax(x) over the same axes, or over some of them; over others as it is written."""
    x = np.random.default_rng(3).normal(size=shape)
    f = lambda x: OFFSETS[name](DISPLACED[displaced](x, inner), outer)
    if name != "slope of log Σ eᶻ":
        np.testing.assert_allclose(rg.stabilize(f)(x), f(x), rtol=1e-13, atol=1e-15)
    h = 1e-5 * np.random.default_rng(4).normal(size=shape)
    value = rg.stabilize(f)
    along = (value(x + h) - value(x - h)) / 2
    np.testing.assert_allclose(np.sum(rg.grad(f)(x) * h), along, rtol=1e-5, atol=1e-13)


def test_shares_of_logs_of_shares_are_shares():
    f = lambda x: special.softmax(special.log_softmax(x) + 0.25)
    assert "log_softmax" not in rg.stabilize(f).source(np.zeros(3))


@pytest.mark.parametrize("temperature", [0.3, np.array([[0.1], [7.0]])])
@pytest.mark.parametrize("name", ["softmax", "log-softmax", "weighted mean"])
def test_a_softmax_at_a_temperature_does_not_change_with_a_shift(name, temperature):
    """softmax((z + c)/t) = softmax(z/t) to the last digits where z + c is exact, and z + c is not watched for that."""
    share = lambda z, t: np.exp(z / t) / np.sum(np.exp(z / t), axis=-1, keepdims=True)
    f = {
        "softmax": share,
        "log-softmax": lambda z, t: np.log(share(z, t)),
        "weighted mean": lambda z, t: np.sum(share(z, t) * np.arange(3.0), axis=-1),
    }[name]
    z = np.array([[0.5, 0.25, 0.75], [0.125, 1.0, 0.875]])
    np.testing.assert_allclose(
        rg.stabilize(f, precise=False)(z + 2.0**20, temperature),
        rg.stabilize(f, precise=False)(z, temperature),
        rtol=1e-14,
    )
    assert "precise" not in rg.stabilize(share).source(z, temperature)


ENTRIES = {
    "of two": lambda x, y, z: np.logaddexp(x, y) - x,
    "of two, the other way": lambda x, y, z: np.logaddexp(y, x) - x,
    "of two, in exponentials": lambda x, y, z: np.log(np.exp(y) + np.exp(x)) - x,
    "twice": lambda x, y, z: (2 * np.logaddexp(y, x) - 2 * x) / 2,
    "of three": lambda x, y, z: (
        np.log(np.exp(y[..., None]) + np.exp(x[..., None]) + np.exp(y[..., None] - 60))[..., 0] - x
    ),
    "beside a row": lambda x, y, z: np.log(np.exp(x) + np.sum(np.exp(z), axis=-1)) - x,
    "beside a row, joined": lambda x, y, z: (
        rg.logsumexp(np.concatenate([z, x[..., None], z - 9], axis=-1), axis=-1) - x
    ),
}


@pytest.mark.parametrize("which", ENTRIES)
@pytest.mark.parametrize("shape", [(2,), (), (3, 2), (1, 1)])
def test_what_a_log_sum_exp_is_above_an_exponent_that_was_joined(which, shape):
    """log(eˣ + eʸ) − x = log(1 + e^(y − x)), whatever else is joined; no sum of rows loses an exponent of another"""
    x, y, z = (
        np.full(shape, 47.0),
        np.full(shape, 3.0),
        np.stack([np.full(shape, 1.0), np.full(shape, 4.0)], -1),
    )
    above = {"beside a row": np.exp(-46.0) + np.exp(-43.0), "of three": np.exp(-44.0) * (1 + np.exp(-60.0))}
    above |= {"beside a row, joined": above["beside a row"] * (1 + np.exp(-9.0))}
    want = np.log1p(above.get(which, np.exp(-44.0)))
    found = rg.stabilize(ENTRIES[which], precise=False)(x, y, z)
    np.testing.assert_allclose(found, np.full(shape, want), rtol=1e-13)


def test_a_log_sum_exp_of_rows_beside_the_exponents_of_all_rows():
    x, z = np.array([40.0, 50.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    of_all = lambda x, z: np.log(np.exp(x) + np.sum(np.exp(z), axis=1))[:, None] - x
    np.testing.assert_allclose(
        rg.stabilize(of_all)(x, z), [[np.exp(-39.0) + np.exp(-38.0), -10], [10, 0]], atol=1e-15
    )


@pytest.mark.parametrize(
    ("f", "parameters"),
    [
        (lambda m, y, k: m.max(y) - m.log(m.sum(m.exp(y))), [0.0]),
        (lambda m, y, k: m.log(m.sum(m.exp(k * y))) - k * m.max(y), [50.0, -3.0]),
        (lambda m, y, k: m.min(y) + k * m.log(m.sum(m.exp(-y / k))), [0.01, 2.0]),
        (lambda m, y, k: 7 * k * m.log(m.sum(m.exp(-30 * y))) / 30 + 7 * k * m.min(y), [0.5]),
    ],
    ids=["the largest", "a multiple", "an energy", "a number of times"],
)
def test_an_extreme_beside_a_sum_of_exponentials_of_its_multiples(f, parameters):
    """k·max y − log Σ e^(k·y) is the logarithm of the share of the largest, whatever the sign of k."""
    exact = SimpleNamespace(
        max=max, min=min, log=mpmath.log, sum=sum, exp=np.vectorize(mpmath.exp, otypes=[object])
    )
    for y in ([-1.3, -1.1, 0.4], [0.25, 0.25, 30.0], [2.0, 1.0, 2.0]):
        for k in parameters:
            with mpmath.workdps(150):
                at = np.array(list(map(mpmath.mpf, y)), dtype=object)
                value = float(f(exact, at, mpmath.mpf(k)))
                steps = [mpmath.mpf(10) ** -30 * e for e in np.eye(3, dtype=int).tolist()[0]]
                slope = float(
                    (f(exact, at + steps, mpmath.mpf(k)) - f(exact, at - steps, mpmath.mpf(k)))
                    / (2 * steps[0])
                )
            found = rg.stabilize(lambda y, k: f(np, y, k), precise=False)(np.array(y), k)
            np.testing.assert_allclose(found, value, rtol=2e-13)
            if y.count(y[0]) == 1:
                found = rg.grad(lambda y, k: f(np, y, k), precise=False)(np.array(y), k)[0]
                np.testing.assert_allclose(found, slope, rtol=2e-13)


def test_an_extreme_beside_a_sum_of_exponentials_along_an_axis():
    y, k = np.array([[1.0, 3.0, 2.0], [0.5, 0.0, -9.0]]), np.array([[40.0], [-2.0]])
    f = lambda y, k: np.log(np.sum(np.exp(k * y), 1, keepdims=True)) - k * np.max(y, 1, keepdims=True)
    with mpmath.workdps(60):
        truth = [
            [float(mpmath.log(sum(mpmath.exp(c * (x - max(row))) for x in row)))]
            for row, (c,) in zip(y.tolist(), k.tolist(), strict=True)
        ]
    np.testing.assert_allclose(rg.stabilize(f, precise=False)(y, k), truth, rtol=1e-13)
    varies = rg.stabilize(lambda y, k: np.log(np.sum(np.exp(k * y))) - k * np.max(y), precise=False)
    weights = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(
        varies(y[0], weights), np.log(np.sum(np.exp(weights * y[0]))) - weights * 3.0, rtol=1e-14
    )
