"""Moments of data far from zero, and products of many numbers, in every way of writing them."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import relgrad as rg
from relgrad.kernels import centred, log_prod

N = 5
X = np.array([1e9, 1e9 + 1.0, 1e9 + 2.7, 1e9 - 3.1, 1e9 + 0.3])
Y = np.array([5e8, 5e8 + 2, 5e8 - 1, 5e8 + 3, 5e8 + 0.5])
W = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
ORDINARY = np.array([0.3, -1.2, 2.5, 0.7, -0.4])
S, M = np.sum, np.mean

FORMS = {
    "variance": """M(x**2) - M(x)**2; M(x*x) - M(x)*M(x); S(x*x)/N - (S(x)/N)**2; (S(x*x) - S(x)**2/N)/N;
        (N*S(x*x) - S(x)**2)/N**2; x@x/N - M(x)**2; np.dot(x, x)/N - (S(x)/N)**2; -(M(x)**2 - M(x**2));
        M((x - M(x))**2); np.var(x); np.std(x)**2; M(x*(x - M(x))); (x**2).mean() - x.mean()**2;
        S(x**2)/N - S(x)*M(x)/N; np.average(x**2) - np.average(x)**2; 0.5*M((x[:, None] - x[None, :])**2);
        (x @ x - N*M(x)**2)/N""",
    "unbiased": """(S(x*x) - N*M(x)**2)/(N - 1); (S(x*x) - S(x)**2/N)/(N - 1); np.var(x, ddof=1);
        (M(x*x) - M(x)**2)*N/(N - 1)""",
    "covariance": """M(x*y) - M(x)*M(y); S(x*y)/N - S(x)*S(y)/N**2; x@y/N - M(x)*M(y); (S(x*y) - N*M(x)*M(y))/N;
        M((x - M(x))*(y - M(y))); M((x - M(x))*y); M(x*(y - M(y)))""",
    "weighted": """S(w*x*x)/S(w) - (S(w*x)/S(w))**2; np.average(x**2, weights=w) - np.average(x, weights=w)**2;
        (S(w*x*x) - S(w*x)**2/S(w))/S(w); S(w*(x - S(w*x)/S(w))**2)/S(w); (w @ x**2)/S(w) - ((w @ x)/S(w))**2""",
    "weighted covariance": "S(w*x*y)/S(w) - S(w*x)*S(w*y)/S(w)**2; (S(w*x*y) - S(w*x)*S(w*y)/S(w))/S(w)",
    "third": "M(x**3) - 3*M(x)*M(x**2) + 2*M(x)**3; M((x - M(x))**3)",
    "fourth": "M(x**4) - 4*M(x)*M(x**3) + 6*M(x)**2*M(x**2) - 3*M(x)**4; M((x - M(x))**4)",
    "distance": "S(x*x) + S(y*y) - 2*S(x*y); x@x - 2*x@y + y@y; S((x - y)**2)",
}
CASES = [(kind, text.strip()) for kind, texts in FORMS.items() for text in texts.split(";")]


def compiled(text):
    code = compile(text, text, "eval")
    return lambda x, y, w: eval(code, globals(), {"x": x, "y": y, "w": w})


def exact(kind, x, y, w):
    """Return the value, the gradient in x, and its product with W, in high precision."""
    with mpmath.workdps(60):
        x, y, w = ([mpmath.mpf(float(v)) for v in a] for a in (x, y, w))
        n = len(x)
        mean = lambda a, b=None: sum(map(lambda p, q: p * q, a, b or [1] * n)) / sum(b or [1] * n)
        unweighted = [mpmath.mpf(1)] * n
        weights = w if "weighted" in kind else unweighted
        total = sum(weights) - (1 if kind == "unbiased" else 0)
        d = [a - mean(x, weights) for a in x]
        e = [a - mean(y, weights) for a in y]
        v = [mpmath.mpf(float(a)) for a in W]
        dv = [a - mean(v, weights) for a in v]
        m = [sum(a**k for a in d) / n for k in range(4)]
        if kind == "distance":
            gap = [a - b for a, b in zip(x, y, strict=True)]
            return sum(a * a for a in gap), [2 * a for a in gap], [2 * a for a in v]
        if "covariance" in kind:
            value = sum(a * b * c for a, b, c in zip(d, e, weights, strict=True)) / total
            return value, [b * c / total for b, c in zip(e, weights, strict=True)], [0] * n
        if kind == "third":
            slope = [3 * (a * a - m[2]) / n for a in d]
            mixed = sum(a * b for a, b in zip(d, v, strict=True)) / n
            return m[3], slope, [3 * (2 * a * b - 2 * mixed) / n for a, b in zip(d, dv, strict=True)]
        if kind == "fourth":
            value = sum(a**4 for a in d) / n
            mixed = sum(a * a * b for a, b in zip(d, dv, strict=True)) / n
            curved = [(12 * (a * a * b - mixed)) / n for a, b in zip(d, dv, strict=True)]
            return value, [4 * (a**3 - m[3]) / n for a in d], curved
        value = sum(a * a * c for a, c in zip(d, weights, strict=True)) / total
        return (
            value,
            [2 * a * c / total for a, c in zip(d, weights, strict=True)],
            [2 * b * c / total for b, c in zip(dv, weights, strict=True)],
        )


def assert_near(got, want, what, rtol=3e-15):
    want = np.array([float(a) for a in np.atleast_1d(np.array(want, dtype=object))])
    scale = np.max(np.abs(want))
    np.testing.assert_allclose(np.ravel(got), want, rtol=rtol, atol=rtol * scale / 4 + 1e-300, err_msg=what)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("kind", "text"), CASES, ids=[t for _, t in CASES])
@pytest.mark.parametrize("where", ["far from zero", "ordinary"])
def test_moments_however_they_are_written(kind, text, where):
    f = compiled(text)
    x, y = (X, Y) if where == "far from zero" else (ORDINARY, ORDINARY[::-1] * 0.5 + 1)
    value, slope, curved = exact(kind, x, y, W)
    assert_near(rg.stabilize(f)(x, y, W), value, "value", 4e-15)
    assert_near(rg.grad(f)(x, y, W), slope, "gradient", 4e-15)
    first = rg.grad(f)
    product = rg.grad(lambda t: np.sum(first(t, y, W) * W))(x)
    np.testing.assert_allclose(product, [float(a) for a in curved], rtol=1e-13, atol=1e-13)


def test_every_row_has_its_own_mean():
    x = np.stack([X, Y, ORDINARY])
    f = lambda x: np.mean(x**2, axis=1) - np.mean(x, axis=1) ** 2
    np.testing.assert_allclose(rg.stabilize(f)(x), np.var(x - x[:, :1], axis=1), rtol=1e-14)


def test_correlation_of_what_lies_far_from_zero():
    f = lambda x, y: (M(x * y) - M(x) * M(y)) / np.sqrt((M(x**2) - M(x) ** 2) * (M(y**2) - M(y) ** 2))
    want = np.corrcoef(X - 1e9, Y - 5e8)[0, 1]
    np.testing.assert_allclose(rg.stabilize(f)(X, Y), want, rtol=1e-14)


def test_products_that_leave_the_floats():
    x = np.linspace(500.0, 1500.0, 128)
    logs = np.sum(np.log(x))
    np.testing.assert_allclose(rg.stabilize(lambda x: np.log(np.prod(x)))(x), logs, rtol=1e-15)
    np.testing.assert_allclose(rg.grad(lambda x: np.log(np.prod(x)))(x), 1 / x, rtol=1e-15)
    mean = lambda x: np.prod(x) ** (1 / 128)
    with mpmath.workdps(40):
        want = float(mpmath.exp(sum(mpmath.log(float(a)) for a in x) / 128))
    assert abs(rg.stabilize(mean)(x) / want - 1) < 1e-15
    np.testing.assert_allclose(rg.grad(mean)(x), want / 128 / x, rtol=2e-15)
    np.testing.assert_allclose(rg.stabilize(lambda x: np.log(np.prod(x) ** 2))(x), 2 * logs, rtol=1e-15)
    ratio = lambda x: np.prod(x) / np.prod(x + 1)
    np.testing.assert_allclose(rg.stabilize(ratio)(x), np.prod(x / (x + 1)), rtol=1e-15)


def test_the_log_of_a_product_keeps_its_domain():
    f = rg.stabilize(lambda x: np.log(np.prod(x)))
    assert np.isnan(f(np.array([-1.0, 2.0])))
    np.testing.assert_allclose(f(np.array([-1e200, -1e200])), 2 * np.log(1e200))
    assert f(np.array([0.0, 2.0])) == -np.inf


def test_the_kernels_at_their_limits():
    x = np.full(3000, 1e-300)
    np.testing.assert_allclose(log_prod(x), 3000 * np.log(1e-300), rtol=1e-15)
    assert log_prod(np.array([])) == 0
    rows = np.array([[1e200, 1e200], [2.0, 3.0]])
    np.testing.assert_allclose(log_prod(rows, axis=1), [2 * np.log(1e200), np.log(6)])
    np.testing.assert_allclose(log_prod(rows, axis=0, keepdims=True), [[np.log(2e200), np.log(3e200)]])
    assert centred(np.float32([1, 2])).dtype == np.float32
    np.testing.assert_allclose(centred(centred(X)), centred(X), rtol=1e-15)
    np.testing.assert_array_equal(centred(np.array([1.0, np.inf])), [-np.inf, np.nan])


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0])
def test_slopes_of_powers_of_products_that_are_zero_are_those_of_numpy(p: float, strategy: str):
    x = np.array([1.5, 0.0, 2.0])
    power = lambda x, p: np.prod(x) ** p
    with np.errstate(all="ignore"):
        want = rg.grad(power, argnums=(0, 1), strategy="naive")(x, p)
        found = rg.grad(power, argnums=(0, 1), strategy=strategy)(x, p)
        np.testing.assert_array_equal(found[0], want[0])
        assert found[1] == 0
        if p >= 1:
            pushed = rg.jvp(power, (x, p), (np.array([1.0, 2.0, 3.0]), 0.3), strategy=strategy)[1]
            assert pushed == pytest.approx(want[0] @ np.array([1.0, 2.0, 3.0]))


def test_the_log_of_a_product_of_complements_is_the_sum_of_theirs_where_none_is_far_from_one():
    """log Π(1 − h) for small h; where factors are negative, and the product is not, it is that of the product."""
    f = rg.stabilize(lambda h: np.log(np.prod(1 - h)))
    assert f(np.array([1e-20, 3e-30])) == pytest.approx(-1.0000000003e-20, rel=1e-14, abs=0)
    assert f(np.array([1e-9, 0.75])) == pytest.approx(np.log1p(-1e-9) + np.log(0.25), rel=1e-15)
    assert f(np.array([3.0, 4.0])) == pytest.approx(np.log(6.0), rel=1e-15)
    slopes = rg.grad(lambda h: np.sum(np.log(np.prod(1 - h, axis=0))))(np.array([[1e-20, 0.5], [3e-30, 3.0]]))
    assert slopes == pytest.approx(np.array([[-1.0, -2.0], [-1.0, 0.5]]), rel=1e-15)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: S((x - M(x)) / np.sqrt(np.var(x) + 0.1)),
        lambda x: S((np.exp(x) - M(np.exp(x))) * np.exp(M(x))),
        lambda x: M((x[:, None] - M(x))[:, 0] * 3.0),
    ],
)
def test_distances_from_a_mean_sum_to_zero(f, strategy: str):
    """Σ c·(x − x̄) = 0, and so are its derivatives."""
    x = np.array([0.3, 1.2, -2.0, 0.7, 4.0])
    assert rg.stabilize(f, strategy=strategy)(x) == pytest.approx(0, abs=1e-300)
    np.testing.assert_array_equal(rg.grad(f, strategy=strategy)(x), 0)


def test_distances_from_a_mean_are_taken_once():
    """D(D(x, p), p) = D(x, p): sums against a pullback of a softmax are centred by one step."""

    def f(x):
        p = np.exp(x) / S(np.exp(x))
        return S(np.linalg.solve(np.outer(p, p) + 4 * np.eye(3), np.ones(3)))

    x = np.array([0.2, -0.1, 0.4])
    steps = [step.name for step in rg.hessian(f).explain(x).steps]
    assert steps.count("sum_against_zero_sum") < 10
    np.testing.assert_allclose(rg.hessian(f)(x), rg.hessian(f, strategy="naive")(x), rtol=1e-9)


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("multiple", [1.0, 0.5, 1 / 4, 3.0])
def test_a_sum_less_what_it_nearly_is_takes_no_rounded_multiple(multiple, precise):
    """c·Σ x − y: neither y/c nor y·n/c is a float, if c and n are not powers of two."""
    f = rg.stabilize(lambda x, y: multiple * np.sum(x) - y, precise=precise)
    for y in np.nextafter(multiple * 1.1, [0, 2, 9, 1.5]) * (1 + 1e-15):
        x = np.array([0.3, 0.7, 0.1])
        want = Fraction(multiple) * sum(map(Fraction, x)) - Fraction(y)
        allowed = abs(want) / 2**50 if precise or multiple < 2 else Fraction(1, 2**50)
        assert abs(Fraction(float(f(x, y))) - want) <= allowed


@pytest.mark.parametrize("spelling", ["average", "quotient", "Rayleigh"])
def test_a_weighted_mean_less_a_value_is_the_mean_of_distances_from_it(spelling):
    """Σ w·x/Σ w − x₀ = Σ w·(x − x₀)/Σ w: as small as the weights of the others, without a look at more digits."""
    f = {
        "average": lambda x, w: np.average(x, weights=w) - x[0],
        "quotient": lambda x, w: S(w * x) / S(w) - x[0],
        "Rayleigh": lambda x, w: x[0] - S(x * w**0.5 * w**0.5) / S(w),
    }[spelling]
    x, sign = np.array([0.1, 0.7, 1e3]), -1 if spelling == "Rayleigh" else 1
    for size in (1.0, 1e-9, 1e-40):
        w = np.array([1.0, size, 0.25 * size])
        exact = lambda x, w: S([a * (b - x[0]) for a, b in zip(w, x, strict=True)]) / S(w)
        want = float(exact([*map(Fraction, x)], [*map(Fraction, w)]))
        assert sign * rg.stabilize(f, precise=False)(x, w) == pytest.approx(want, rel=1e-14)


def test_half_a_perimeter_less_a_side_keeps_its_digits():
    heron = rg.stabilize(lambda s: np.sqrt(S(s) / 2 * np.prod(S(s) / 2 - s)))
    assert abs(heron(np.array([1.0, 1.0, 1e-9])) - 5e-10) < 1e-24
    third = rg.stabilize(lambda x: S(x) / 2 - 0.3)
    x = np.array([0.1, 0.2, np.nextafter(0.3, 0)])
    assert third(x) == float(sum(map(Fraction, x)) / 2 - Fraction(0.3))


ABOUT_MEANS = {
    "fourth": (
        lambda x, y: (
            (x**4).mean()
            - 4 * x.mean() * (x**3).mean()
            + 6 * x.mean() ** 2 * (x**2).mean()
            - 3 * x.mean() ** 4
        ),
        lambda x, y: (x**4).mean(),
    ),
    "third, of sums": (
        lambda x, y: (x**3).sum() - 3 * x.sum() * (x**2).sum() / 9 + 2 * x.sum() ** 3 / 81,
        lambda x, y: (x**3).sum(),
    ),
    "of two": (
        lambda x, y: (
            (x * x * y).mean()
            - y.mean() * (x * x).mean()
            - 2 * x.mean() * (x * y).mean()
            + 2 * x.mean() ** 2 * y.mean()
        ),
        lambda x, y: (x * x * y).mean(),
    ),
    "beside others": (
        lambda x, y: 1 + y.sum() + (x**2).mean() * y[0] - x.mean() ** 2 * y[0],
        lambda x, y: 1 + (9e4 + y.sum()) + (x**2).mean() * (1e4 + y[0]),
    ),
}


@pytest.mark.parametrize("name", ABOUT_MEANS)
def test_polynomials_of_sums_that_a_shift_does_not_change_are_of_data_about_their_means(name):
    """f(x + 2¹⁷, y + 10⁴), whose power sums agree in all of their digits; not where one coefficient is another."""
    written, about = ABOUT_MEANS[name]
    rng = np.random.default_rng(4)
    x, y = rng.integers(-512, 512, (2, 9)) / 1024
    x, y = x - np.append(np.zeros(8), x.sum()), y - np.append(np.zeros(8), y.sum())
    found = rg.stabilize(written, precise=False)(x + 2.0**17, y + 1e4)
    np.testing.assert_allclose(found, about(x, y), rtol=1e-12)
    wrong = lambda x, y: (
        written(x, y) + x.mean() ** 4 + x.mean() ** 2 * y.mean() + x.mean() ** 3 + x.mean() ** 2
    )
    np.testing.assert_allclose(rg.stabilize(wrong, precise=False)(x + 1, y), wrong(x + 1, y), rtol=1e-13)


LEFT_BY_CAUCHY_AND_SCHWARZ = {
    "of two": (lambda x, y: S(x**2) * S(y**2) - S(x * y) ** 2, 1),
    "of one": (lambda x, y: 1 - S(y) ** 2 / (3 * S(y * y)), 0),
    "of means": (lambda x, y: 1 - M(y) ** 2 / M(y**2), 0),
    "of lengths": (lambda x, y: 1 - (x @ y) ** 2 / ((x @ x) * (y @ y)), 1),
    "with weights": (lambda x, y: S(x) * S(x * y**2) - S(x * y) ** 2, 0),
    "of shares": (lambda x, y: S((y / S(y)) ** 2) - 1 / 3, 0),
    "of rows": (lambda x, y: S(S(np.outer(x, x) ** 2, 1) * S(y * y) - S(np.outer(x, x) * y, 1) ** 2), 1),
}


@pytest.mark.parametrize("name", LEFT_BY_CAUCHY_AND_SCHWARZ)
def test_what_cauchy_and_schwarz_leave_is_beside_a_projection(name):
    """Σ x²·Σ y² − (Σ x·y)² for y that is nearly along x, or nearly constant; values and slopes far from that."""
    f, along = LEFT_BY_CAUCHY_AND_SCHWARZ[name]
    x, d = np.array([1.0, 2.0, 3.0]), np.array([3.0, 0.0, -1.0]) * 2.0**-30
    y = (x if along else 1.0) + d
    with mpmath.workdps(60):
        exact = lambda v: np.array([mpmath.mpf(e) for e in v])
        want = float(f(exact(x), exact(y) + 0 * mpmath.mpf(1)))
    if name == "of shares":
        with mpmath.workdps(60):
            want = float(sum((e / sum(exact(y))) ** 2 for e in exact(y)) - mpmath.mpf(1) / 3)
    assert rg.stabilize(f, precise=False)(x, y) == pytest.approx(want, rel=1e-6)
    u, v = np.array([1.0, -2.0, 0.5]), np.array([0.3, 1.0, 2.0])
    if name == "with weights":
        u = np.abs(u)
    assert rg.stabilize(f, precise=False)(u, v) == pytest.approx(f(u, v), rel=1e-13)
    slope = rg.grad(f, argnums=(0, 1), precise=False)(u, v)
    plain = rg.grad(f, argnums=(0, 1), strategy="naive")(u, v)
    np.testing.assert_allclose(slope, plain, rtol=1e-11, atol=1e-11)


def test_nothing_is_projected_on_zero():
    """Σ x²·Σ y² − (Σ x·y)² is 0 for x = 0, as are its slopes; a quotient by Σ x² is none."""
    zero, y = np.zeros(3), np.array([1.0, 2.0, 4.0])
    area, share = LEFT_BY_CAUCHY_AND_SCHWARZ["of two"][0], LEFT_BY_CAUCHY_AND_SCHWARZ["of lengths"][0]
    assert rg.stabilize(area)(zero, y) == 0
    np.testing.assert_array_equal(rg.grad(area, argnums=(0, 1))(zero, y), np.zeros((2, 3)))
    assert np.isnan(rg.stabilize(share)(zero, y))
