"""Powers and roots: differences, quadratic equations, compound interest; values and derivatives are right."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scalar_checks import errors, naive_error, steps

import relgrad as rg

LARGE = [1e10, 3e15, 2.5, 1e-3]
DIFFERENCES = {
    "roots": lambda m, x: m.sqrt(x + 1) - m.sqrt(x),
    "turned": lambda m, x: -m.sqrt(x) + m.sqrt(1 + x),
    "powers of one half": lambda m, x: (x + 1) ** 0.5 - x**0.5,
    "a multiple": lambda m, x: 3 * m.sqrt(x + 1) - 3 * m.sqrt(x),
    "reciprocal roots": lambda m, x: 1 / m.sqrt(x) - 1 / m.sqrt(x + 1),
    "powers of minus one half": lambda m, x: x**-0.5 - (x + 1) ** -0.5,
    "reciprocals of roots": lambda m, x: m.reciprocal(m.sqrt(x)) - m.reciprocal(m.sqrt(x + 1)),
    "cube roots": lambda m, x: m.cbrt(x + 1) - m.cbrt(x),
    "reciprocals": lambda m, x: 1 / (x + 1) - 1 / x,
    "reciprocals of squares": lambda m, x: 1 / x**2 - 1 / (x + 1) ** 2,
    "reciprocals of products": lambda m, x: 1 / (x * x) - 1 / (x * x + 1),
    "three reciprocals": lambda m, x: 1 / (x + 1) - 2 / x + 1 / (x - 1),
    "squares": lambda m, x: (x + 1) ** 2 - x**2,
    "cubes": lambda m, x: (x + 1) ** 3 - x * x * x,
    "fourth powers": lambda m, x: (x + 1) ** 4 - x**4,
    "fractional powers": lambda m, x: (x + 1) ** 1.5 - x**1.5,
    "a quotient less one": lambda m, x: (x + 1) / x - 1,
    "a share less one": lambda m, x: x / (x + 1) - 1,
    "root of one plus little": lambda m, x: m.sqrt(1 + 1 / x) - 1,
    "hypotenuse less leg": lambda m, x: m.sqrt(x * x + 1) - x,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_of_powers(name):
    assert max(errors(DIFFERENCES[name], LARGE)) <= 6


NEAR_ONE = {
    "√(1+x) - 1": lambda m, x: m.sqrt(1 + x) - 1,
    "1 - √(1-x)": lambda m, x: 1 - m.sqrt(1 - x),
    "1 - √(1-x²)": lambda m, x: 1 - m.sqrt(1 - x * x),
    "√(1+x²) - 1": lambda m, x: m.sqrt(1 + x * x) - 1,
    "(√(1+x) - 1)/x": lambda m, x: (m.sqrt(1 + x) - 1) / x,
    "(√(1+x²) - 1)/x²": lambda m, x: (m.sqrt(1 + x * x) - 1) / x**2,
    "√(1+x) - √(1-x)": lambda m, x: m.sqrt(1 + x) - m.sqrt(1 - x),
    "(1+x)³ - 1": lambda m, x: (1 + x) ** 3 - 1,
    "(1+x)^(1/10) - 1": lambda m, x: (1 + x) ** 0.1 - 1,
    "∛(1+x) - 1": lambda m, x: m.cbrt(1 + x) - 1,
    "1/(1+x) - 1": lambda m, x: 1 / (1 + x) - 1,
    "1/(1-x²) - 1": lambda m, x: 1 / (1 - x * x) - 1,
    "1/√(1-x²) - 1": lambda m, x: 1 / m.sqrt(1 - x * x) - 1,
    "1/(1+x)² - 1": lambda m, x: 1 / (1 + x) ** 2 - 1,
    "(1+x)/(1-x) - 1": lambda m, x: (1 + x) / (1 - x) - 1,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NEAR_ONE)
def test_powers_near_one(name):
    points = [1e-12, -3e-9, 0.25]
    assert naive_error(NEAR_ONE[name], points) > 10
    assert max(errors(NEAR_ONE[name], points)) <= 6


INTEREST = {
    "(1+x)³⁶⁵": lambda m, x: (1 + x) ** 365,
    "(1+x)³⁶⁵ - 1": lambda m, x: (1 + x) ** 365 - 1,
    "((1+x)³⁶⁵ - 1)/x": lambda m, x: ((1 + x) ** 365 - 1) / x,
    "1 - (1+x)⁻³⁰": lambda m, x: 1 - (1 + x) ** -30.0,
    "(1 - (1+x)⁻³⁰)/x": lambda m, x: (1 - (1 + x) ** -30.0) / x,
    "x/(1 - (1+x)⁻³⁰)": lambda m, x: x / (1 - (1 + x) ** -30.0),
    "daily": lambda m, x: 100 * ((1 + x / 365) ** 365 - 1) / (x / 365),
    "1 - (1-x)¹⁰⁰⁰": lambda m, x: 1 - (1 - x) ** 1000,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", INTEREST)
def test_compound_interest(name):
    assert max(errors(INTEREST[name], [1e-12, -3e-9, 0.01, 0.125])) <= 7


@pytest.mark.parametrize("wrt", [0, 1])
def test_interest_for_a_number_of_terms_that_varies(wrt):
    f = lambda m, x, n: ((1 + x) ** n - 1) / x
    assert max(errors(f, [1e-12, 1e-6, 0.01], [10.0, 365.0, 30.5], wrt=wrt, orders=2)) <= 6


def test_a_negative_base_keeps_its_whole_powers():
    x = np.array([-3.0, -1.5, -0.5])
    np.testing.assert_allclose(rg.stabilize(lambda x: (1 + x) ** 11 - 1)(x), (1 + x) ** 11 - 1, rtol=1e-14)
    np.testing.assert_allclose(
        rg.grad(lambda x: np.sum(((1 + x) ** 11 - 1) / x))(x),
        (11 * (1 + x) ** 10 * x - ((1 + x) ** 11 - 1)) / x**2,
        rtol=1e-12,
    )


QUADRATIC = {
    "plus": lambda m, a, b, c: (-b + m.sqrt(b * b - 4 * a * c)) / (2 * a),
    "minus": lambda m, a, b, c: (-b - m.sqrt(b**2 - 4 * a * c)) / (2 * a),
    "turned": lambda m, a, b, c: (m.sqrt(b**2 - 4 * a * c) - b) / 2 / a,
    "a half outside": lambda m, a, b, c: 0.5 * (-b + m.sqrt(m.square(b) - 4.0 * a * c)) / a,
    "negated": lambda m, a, b, c: -(b - m.sqrt(b * b - 4 * a * c)) / (2 * a),
    "negated sum": lambda m, a, b, c: -(b + m.sqrt(b * b - 4 * a * c)) / (2 * a),
    "half coefficient": lambda m, a, b, c: (-b + m.sqrt(b * b - a * c)) / a,
    "double coefficient": lambda m, a, b, c: (-2 * b + m.sqrt(4 * b * b - 4 * a * c)) / (2 * a),
    "two quotients": lambda m, a, b, c: -b / (2 * a) + m.sqrt(b * b - 4 * a * c) / (2 * a),
    "p and q": lambda m, a, b, c: -b / 2 + m.sqrt((b / 2) ** 2 - c) + 0 * a,
    "p and q, minus": lambda m, a, b, c: -b / 2 - m.sqrt(b**2 / 4 - c) + 0 * a,
    "citardauq": lambda m, a, b, c: 2 * c / (-b - m.sqrt(b * b - 4 * a * c)),
    "a power": lambda m, a, b, c: (-b + (b**2 - 4 * a * c) ** 0.5) / (2 * a),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", QUADRATIC)
@pytest.mark.parametrize("wrt", [0, 1, 2])
def test_quadratic_equations(name, wrt):
    a, b, c = [1.0, 2.0, 1e-8, -1.0], [1e8, -3e7, 2.0, -1e9], [1.0, -1.0, 0.5, 3.0]
    if wrt == 0 and name.startswith("p and q"):
        pytest.skip("there is no coefficient of the square")
    assert max(errors(QUADRATIC[name], a, b, c, wrt=wrt, orders=2)) <= 4


def test_the_discriminant_neither_overflows_nor_cancels():
    root = rg.stabilize(lambda a, b, c: (-b + np.sqrt(b * b - 4 * a * c)) / (2 * a))
    assert root(1e-200, 1e200, 1e-100) == pytest.approx(-1e-300, rel=1e-15)
    # b² - 4ac = 1 exactly, where the two products are equal in floats.
    a, b, c = 94906265.625, 2 * 94906267.0, 94906268.375
    assert errors(QUADRATIC["plus"], a, b, c, orders=1)[0] <= 2


@pytest.mark.parametrize("w", [0.0, -2.0, np.array([-2.0, 0.0, 1e300])])
def test_a_root_that_is_infinite_is_no_overflow(w):
    """2c/(−b − √(b² − 4ac)) = 0 at c = 0: over 1/c it is a root of c·r² + b·r + a = 0, which has one only."""
    f = lambda a, b, c: 2 * c / (-b - np.sqrt(b**2 - a * 4 * c))
    for how in ({}, {"validate": False, "precise": False}, {"strategy": "eager"}):
        np.testing.assert_array_equal(rg.stabilize(f, **how)(w, 2.0, 0.0), 0.0 * w)
        np.testing.assert_array_equal(rg.grad(lambda c: np.sum(f(w, 2.0, c)), **how)(0.0), -0.5 * np.size(w))


TRIANGLES = {
    "√(x² - y²)": lambda m, x, y: m.sqrt(x * x - y * y),
    "√(x² + y²) - y": lambda m, x, y: m.sqrt(x * x + y * y) - y,
    "x - √(x² - y²)": lambda m, x, y: x - m.sqrt(x * x - y * y),
    "x² - y²": lambda m, x, y: x**2 - y**2,
    "complex root": lambda m, x, y: m.sqrt((m.sqrt(x * x + y * y) - y) / 2),
}


@pytest.mark.parametrize("name", TRIANGLES)
@pytest.mark.parametrize("wrt", [0, 1])
def test_triangles(name, wrt):
    x, y = [1.0, 1.0, 5.0, 1e-3], [1 - 1e-9, 0.5, 3.0, 1e-3 * (1 - 1e-12)]
    assert max(errors(TRIANGLES[name], x, y, wrt=wrt, orders=2)) <= 4


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_triangles_of_any_size(scale):
    side = rg.stabilize(lambda x, y: np.sqrt(x * x - y * y))
    excess = rg.stabilize(lambda x, y: np.sqrt(x * x + y * y) - y)
    assert side(5 * scale, 3 * scale) == pytest.approx(4 * scale, rel=1e-15)
    assert excess(4 * scale, 3 * scale) == pytest.approx(2 * scale, rel=1e-15)
    assert np.isnan(side(3 * scale, 5 * scale))


ORDINARY = {
    "(1+x)²": lambda m, x: (1 + x) ** 2,
    "(1+x)³ + 2": lambda m, x: (1 + x) ** 3 + 2,
    "√x + √(x+1)": lambda m, x: m.sqrt(x) + m.sqrt(x + 1),
    "x² + 1": lambda m, x: x**2 + 1,
    "1/x + 1/(x+1)": lambda m, x: 1 / x + 1 / (x + 1),
    "√x - 3": lambda m, x: m.sqrt(x) - 3,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_is_right_already_is_left_alone(name):
    assert steps(ORDINARY[name], [0.5, 2.0]) == []


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sqrt(x) - np.sqrt(y),
        lambda x, y: 1 / x - 1 / y,
        lambda x, y: x**2 - y**2,
        lambda x, y: np.cbrt(x) - np.cbrt(y),
        lambda x, y: x**-1.5 - y**-1.5,
    ],
)
def test_far_apart_or_at_the_ends_nothing_is_lost(f):
    x = np.array([1e200, 1e-200, 4.0, 1e-300, 0.0, 2.0])
    y = np.array([1e150, 1e200, 9.0, 1e300, 0.0, 2.0])
    with np.errstate(all="ignore"):
        plain = f(x, y)
        got = rg.stabilize(f)(x, y)
    np.testing.assert_allclose(got[:5], plain[:5], rtol=1e-14)
    assert got[5] == 0


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_slopes_along_exponents_of_zero(strategy: str):
    x, y, a = np.array([0.0, 2.0, 0.0]), np.array([3.0, 0.0, 0.0]), 0.7
    slope = rg.grad(lambda x, y, a: np.sum(x**a - y**a), argnums=2, strategy=strategy)(x, y, a)
    assert slope == pytest.approx(2**a * np.log(2) - 3**a * np.log(3), rel=1e-14)
    box_and_cox = rg.grad(lambda x, a: np.sum((x**a - 1) / a), argnums=1, strategy=strategy)
    assert box_and_cox(x[:1], a) == pytest.approx(1 / a**2, rel=1e-14)
    assert rg.grad(box_and_cox, argnums=1, strategy=strategy)(x[:1], a) == pytest.approx(-2 / a**3, rel=1e-14)


FORMS = """x*x - 2*x*y + y*y; (x + y)**2 - 4*x*y; x*y - (x + y)**2/4; (x*x + y*y)/2 - ((x + y)/2)**2; x**2 - 2*x + 1;
    x**-12 - 2*x**-6 + 1; (x + y + z)**2 - 4*x*y; x*x + y*y + z*z - x*y - y*z - z*x; (x + y)**2/4 - (x*y - z*z);
    (x*x + y*y + z*z + 1)/4 - (x + y + z + 1)**2/16; x*x*y*y + 1 + x*x + y*y - 2*x*y;
    4*x*x - 4*x*y + y*y + 3*(x - 1)**2"""


@pytest.mark.parametrize("text", [form.strip() for form in FORMS.split(";")])
def test_a_quadratic_form_is_a_sum_of_squares_of_differences(text):
    """Near the line x = y = z = 1, on which most of these vanish, without doubled numbers."""
    code = compile(text, text, "eval")
    f = lambda x, y, z: eval(code, {"x": x, "y": y, "z": z})
    apart = rg.stabilize(f, precise=False)
    for x, y, z in ((1.0, 1 + 1e-8, 1e-9), (1 + 2e-8, 1.0, 1 - 1e-8), (2.0, 1.0, 3.0)):
        want = f(*[Fraction(v) for v in (x, y, z)])
        assert abs(Fraction(float(apart(x, y, z))) - want) <= abs(want) / 2**44
    assert np.isnan(apart(np.nan, 1.0, 1.0))


def test_a_root_that_divides_is_of_what_is_positive():
    """√(x·h)/√h = √x, whatever h is: as (x·h)^(3/2)/h^(3/2), and beside numbers; h < 0 leaves the reals as before."""
    forms = (
        lambda x, h: np.sqrt(x * h) / np.sqrt(h) - 1,
        lambda x, h: np.sqrt(9.81 * x * h) / np.sqrt(9.81 * h) - 1,
        lambda x, h: (x * h) ** 1.5 / h**1.5 - 1,
    )
    x = 1 + 2.0**-40
    for f, want in zip(forms, (2.0**-41, 2.0**-41, 1.5 * 2.0**-40), strict=True):
        g = rg.stabilize(f, precise=False)
        np.testing.assert_allclose(g(x, 3.0), want, rtol=1e-11)
        for leaves in ((-2.0, -3.0), (2.0, -3.0), (-2.0, 3.0)):
            assert np.isnan(g(*leaves))


def test_a_root_shares_factors_with_what_a_series_leaves():
    """√(tanh(k·h)/k)/√h = √(tanh(u)/u) at u = k·h: the speed of waves on shallow water."""
    f = lambda k, h: np.sqrt(9.81 / k * np.tanh(k * h)) / np.sqrt(9.81 * h) - 1
    with mp.workdps(50):
        u = mp.mpf(0.2) * mp.mpf(0.01)
        want = float(mp.sqrt(mp.tanh(u) / u) - 1)
    assert rg.stabilize(f, precise=False)(0.2, 0.01) == pytest.approx(want, rel=1e-14)
