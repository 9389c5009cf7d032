"""The classical problems of cancellation, and further ones, at floats of all sizes.

Inputs are drawn evenly among all floats for which the formula has a value, as Herbie's benchmarks are: most of them are
huge or tiny, so that overflow and underflow count as much as cancellation. See `scalar_problems`.

Sources: R. W. Hamming, "Numerical Methods for Scientists and Engineers", 2nd ed., chapter 3; W. Kahan, "Branch cuts for
complex elementary functions", 1987; W. H. Press et al., "Numerical Recipes", 3rd ed., sections 5.5 and 5.6; NIST DLMF
chapter 4; P. Panchekha et al., "Automatically improving accuracy for floating point expressions", 2015 (the problems'
choice of inputs).
"""

from __future__ import annotations

import argparse

import numpy as np
from scalar_problems import ALL, POSITIVE, PROBLEMS, Domain, Problem, measure, residual, told

UNIT = (-1.0, 1.0)
NEAR = (1.0, 1.79e308)


EPSILON = ((-10, 10), (-1e-3, 1e-3))
AGAIN = (
    ("3.1 √(x+1) − √x", (POSITIVE,)),
    ("3.3 sin(x+ε) − sin x", (ALL, ALL)),
    ("3.3.5 cos(x+ε) − cos x", (ALL, ALL)),
    ("3.3.2 tan(x+ε) − tan x", (ALL, ALL)),
    ("3.3 sin(x+ε) − sin x", EPSILON, "small ε"),
    ("3.3.5 cos(x+ε) − cos x", EPSILON, "small ε"),
    ("3.3.2 tan(x+ε) − tan x", EPSILON, "small ε"),
    ("3.3.4 ∛(x+1) − ∛x", (ALL,)),
    ("3.3.1 1/(x+1) − 1/x", (ALL,)),
    ("3.5 arctan(N+1) − arctan N", (ALL,)),
    ("3.6 1/√x − 1/√(x+1)", (POSITIVE,)),
    ("3.3.6 log(N+1) − log N", (POSITIVE,)),
    ("3.4.6 (x+1)^(1/n) − x^(1/n)", (POSITIVE, ALL)),
    ("3.3.3 1/(x+1) − 2/x + 1/(x−1)", (ALL,)),
    ("3.11 eˣ/(eˣ − 1)", (ALL,)),
    ("3.4.2 ε(e^((a+b)ε)−1)/((e^aε−1)(e^bε−1))", (ALL, ALL, UNIT)),
    ("3.3.7 eˣ − 2 + e⁻ˣ", (ALL,)),
    ("3.5 e^(ax) − 1", (ALL, ALL)),
    ("3.10 log(1−x)/log(1+x)", (UNIT,)),
    ("3.8 (N+1)log(N+1) − N log N − 1", (POSITIVE,)),
    ("3.4.3 log((1−ε)/(1+ε))", (UNIT,)),
    ("3.2.1 (−b + √(b²−4ac))/2a", (ALL,) * 3),
    ("3.2.1 (−b − √(b²−4ac))/2a", (ALL,) * 3),
    ("3.4.4 √((e²ˣ−1)/(eˣ−1))", (ALL,)),
    ("3.4.5 (x − sin x)/(x − tan x)", (ALL,)),
    ("3.4 (1 − cos x)/sin x", (ALL,)),
    ("3.9 1/x − cot x", (ALL,)),
    ("1 − cos x", (ALL,)),
    ("log(x + √(x²+1))", (ALL,)),
    ("log(x + √(x²−1))", (NEAR,)),
    ("½ log((1+x)/(1−x))", (UNIT,)),
    ("(eˣ − e⁻ˣ)/2", (ALL,)),
    ("(eˣ−e⁻ˣ)/(eˣ+e⁻ˣ)", (ALL,)),
    ("log(eˣ + eʸ)", (ALL, ALL)),
    ("log cosh x", (ALL,)),
    ("(eˣ − 1)/x", (ALL,)),
    ("x/(eˣ − 1)", (ALL,)),
    ("log(1+x)/x", ((-1.0, 1.79e308),)),
    ("(x+h)² − x²", (ALL, ALL)),
    ("√(1+x) − 1", ((-1.0, 1.79e308),)),
    ("1 − √(1−x²)", (UNIT,)),
    ("√(x²+1) − x", (POSITIVE,)),
    ("x/√(x² + y²)", (ALL, ALL)),
    ("x − sin x", (ALL,)),
    ("tan x − sin x", (ALL,)),
    ("1/cos x − 1", (ALL,)),
    ("cosh x − 1", (ALL,)),
    ("sin(x)/x", (ALL,)),
    ("arccos(1 − x)", ((0.0, 2.0),)),
)
"""Problems that are asked over other inputs: their names, the domains, and what these are called."""


def _again(name: str, domains: tuple[Domain, ...], where: str = "all floats") -> Problem:
    problem = next(p for p in PROBLEMS if p.name == name)
    return Problem(f"{name}, {where}", problem.naive, problem.textbook, domains)


EVERYWHERE = (
    *[_again(*which) for which in AGAIN],
    Problem(
        "(x+1)^⅓ − x^⅓",
        lambda x: (x + 1) ** (1 / 3) - x ** (1 / 3),
        lambda x: 1 / (np.cbrt(x + 1) ** 2 + np.cbrt(x + 1) * np.cbrt(x) + np.cbrt(x) ** 2),
        (POSITIVE,),
    ),
    Problem(
        "(1 − cos x)/x²",
        lambda x: (1 - np.cos(x)) / x**2,
        lambda x: 0.5 * (np.sin(x / 2) / (x / 2)) ** 2,
        (ALL,),
    ),
    Problem("eˣ − 1", lambda x: np.exp(x) - 1, np.expm1, (ALL,)),
    Problem(
        "(eˣ − 2) + e⁻ˣ", lambda x: (np.exp(x) - 2) + np.exp(-x), lambda x: 4 * np.sinh(x / 2) ** 2, (ALL,)
    ),
    Problem(
        "(−b + √(b²−ac))/a",
        lambda a, b, c: (-b + np.sqrt(b * b - a * c)) / a,
        lambda a, b, c: np.where(
            b < 0, (-b + np.sqrt(b * b - a * c)) / a, -c / np.where(b < 0, 1.0, b + np.sqrt(b * b - a * c))
        ),
        (ALL,) * 3,
    ),
    Problem(
        "(−b − √(b²−ac))/a",
        lambda a, b, c: (-b - np.sqrt(b * b - a * c)) / a,
        lambda a, b, c: np.where(
            b < 0, c / np.where(b < 0, np.sqrt(b * b - a * c) - b, 1.0), -(b + np.sqrt(b * b - a * c)) / a
        ),
        (ALL,) * 3,
    ),
    Problem(
        "Re √(x+iy)",
        lambda x, y: 0.5 * np.sqrt(2 * (np.sqrt(x * x + y * y) + x)),
        lambda x, y: np.where(
            x > 0,
            0.5 * np.sqrt(2 * (np.hypot(x, y) + x)),
            0.5 * np.abs(y) * np.sqrt(2 / np.where(x > 0, 1.0, np.hypot(x, y) - x)),
        ),
        (ALL, ALL),
    ),
    Problem(
        "Re √(x+iy), halved inside",
        lambda x, y: np.sqrt((np.sqrt(x * x + y * y) + x) / 2),
        lambda x, y: np.where(
            x > 0,
            np.sqrt((np.hypot(x, y) + x) / 2),
            np.abs(y) * np.sqrt(0.5 / np.where(x > 0, 1.0, np.hypot(x, y) - x)),
        ),
        (ALL, ALL),
    ),
    Problem(
        "Im √(x+iy)",
        lambda x, y: 0.5 * np.sqrt(2 * (np.sqrt(x * x + y * y) - x)),
        lambda x, y: np.where(
            x < 0,
            0.5 * np.sqrt(2 * (np.hypot(x, y) - x)),
            0.5 * np.abs(y) * np.sqrt(2 / np.where(x < 0, 1.0, np.hypot(x, y) + x)),
        ),
        (ALL, ALL),
    ),
    Problem(
        "Re (a+ib)/(c+id)",
        lambda a, b, c, d: (a * c + b * d) / (c * c + d * d),
        lambda a, b, c, d: np.where(
            np.abs(c) > np.abs(d),
            (a + b * (d / c)) / (c + d * (d / c)),
            (a * (c / d) + b) / (c * (c / d) + d),
        ),
        (ALL,) * 4,
    ),
    Problem(
        "Im (a+ib)/(c+id)",
        lambda a, b, c, d: (b * c - a * d) / (c * c + d * d),
        lambda a, b, c, d: np.where(
            np.abs(c) > np.abs(d),
            (b - a * (d / c)) / (c + d * (d / c)),
            (b * (c / d) - a) / (c * (c / d) + d),
        ),
        (ALL,) * 4,
    ),
    Problem(
        "log |x+iy|",
        lambda x, y: np.log(np.sqrt(x * x + y * y)),
        lambda x, y: np.log(np.hypot(x, y)),
        (ALL, ALL),
    ),
    Problem(
        "log₁₀ |x+iy|",
        lambda x, y: np.log(np.sqrt(x * x + y * y)) / np.log(10),
        lambda x, y: np.log10(np.hypot(x, y)),
        (ALL, ALL),
    ),
    Problem("|x+iy|", lambda x, y: np.sqrt(x * x + y * y), np.hypot, (ALL, ALL)),
    Problem(
        "√(x²+y²+z²)",
        lambda x, y, z: np.sqrt(x * x + y * y + z * z),
        lambda x, y, z: np.hypot(np.hypot(x, y), z),
        (ALL,) * 3,
    ),
    Problem(
        "log(1+x²)",
        lambda x: np.log(1 + x * x),
        lambda x: np.where(np.abs(x) < 1e150, np.log1p(x * x), 2 * np.log(np.abs(x))),
        (ALL,),
    ),
    Problem(
        "log(x + √(x−1)√(x+1))", lambda x: np.log(x + np.sqrt(x - 1) * np.sqrt(x + 1)), np.arccosh, (NEAR,)
    ),
    Problem("½ log1p(2x/(1−x))", lambda x: 0.5 * np.log1p(2 * x / (1 - x)), np.arctanh, (UNIT,)),
    Problem("2/(1+e⁻²ˣ) − 1", lambda x: 2 / (1 + np.exp(-2 * x)) - 1, np.tanh, (ALL,)),
    Problem(
        "(eˣ+e⁻ˣ)/(eˣ−e⁻ˣ)",
        lambda x: (np.exp(x) + np.exp(-x)) / (np.exp(x) - np.exp(-x)),
        lambda x: 1 / np.tanh(x),
        (ALL,),
    ),
    Problem("1/(1+e⁻ˣ)", lambda x: 1 / (1 + np.exp(-x)), lambda x: 0.5 * (1 + np.tanh(x / 2)), (ALL,)),
    Problem("log(1+eˣ)", lambda x: np.log(1 + np.exp(x)), lambda x: np.logaddexp(0, x), (ALL,)),
    Problem("log(1−e⁻ˣ)", lambda x: np.log(1 - np.exp(-x)), lambda x: np.log(-np.expm1(-x)), (POSITIVE,)),
    Problem(
        "logistic density",
        lambda x, s: np.exp(-np.abs(x) / s) / (s * (1 + np.exp(-np.abs(x) / s)) ** 2),
        lambda x, s: 1 / (4 * s * np.cosh(np.abs(x) / (2 * s)) ** 2),
        (ALL, POSITIVE),
    ),
    Problem(
        "(eˣ − 1)/log eˣ", lambda x: (np.exp(x) - 1) / np.log(np.exp(x)), lambda x: np.expm1(x) / x, (ALL,)
    ),
    Problem("a·a − b·b", lambda a, b: a * a - b * b, lambda a, b: (a - b) * (a + b), (ALL, ALL)),
    Problem("(x+1)⁴ − x⁴", lambda x: (x + 1) ** 4 - x**4, lambda x: 4 * x**3 + 6 * x * x + 4 * x + 1, (ALL,)),
    Problem(
        "x − √(x²−1)",
        lambda x: x - np.sqrt(x * x - 1),
        lambda x: 1 / (x + np.sqrt(x - 1) * np.sqrt(x + 1)),
        (NEAR,),
    ),
    Problem(
        "√(x²−y²)",
        lambda x, y: np.sqrt(x * x - y * y),
        lambda x, y: np.sqrt(np.abs(x - y)) * np.sqrt(np.abs(x + y)),
        (ALL, ALL),
    ),
    Problem(
        "cosh x − cos x",
        lambda x: np.cosh(x) - np.cos(x),
        lambda x: 2 * np.sinh(x / 2) ** 2 + 2 * np.sin(x / 2) ** 2,
        (ALL,),
    ),
    Problem(
        "1/x − 1/sin x",
        lambda x: 1 / x - 1 / np.sin(x),
        residual(lambda x: 1 / x - 1 / np.sin(x), lambda x: -x / 6 * (1 + 7 * x * x / 60)),
        (ALL,),
    ),
    Problem(
        "1/x − coth x",
        lambda x: 1 / x - 1 / np.tanh(x),
        residual(lambda x: 1 / x - 1 / np.tanh(x), lambda x: -x / 3 * (1 - x * x / 15)),
        (ALL,),
    ),
    Problem(
        "1/x − 1/(eˣ−1)",
        lambda x: 1 / x - 1 / (np.exp(x) - 1),
        residual(lambda x: 1 / x - 1 / np.expm1(x), lambda x: 0.5 - x / 12 + x**3 / 720),
        (ALL,),
    ),
    Problem("(eˣ−e⁻ˣ)/2x", lambda x: (np.exp(x) - np.exp(-x)) / (2 * x), lambda x: np.sinh(x) / x, (ALL,)),
    Problem(
        "eˣ − eʸ",
        lambda x, y: np.exp(x) - np.exp(y),
        lambda x, y: np.exp(y) * np.expm1(x - y),
        ((-1e3, 700.0), (-1e3, 700.0)),
    ),
    Problem("xʸ − 1", lambda x, y: x**y - 1, lambda x, y: np.expm1(y * np.log(x)), (POSITIVE, ALL)),
    Problem(
        "law of cosines",
        lambda a, b, c: np.sqrt(a * a + b * b - 2 * a * b * np.cos(c)),
        lambda a, b, c: np.hypot(a - b, 2 * np.sqrt(np.abs(a * b)) * np.sin(c / 2)),
        (POSITIVE, POSITIVE, (-3.0, 3.0)),
    ),
    Problem("π/2 − arctan x", lambda x: np.pi / 2 - np.arctan(x), lambda x: np.pi / 2 - np.arctan(x), (ALL,)),
    Problem(
        "sin²x − sin²y",
        lambda x, y: np.sin(x) ** 2 - np.sin(y) ** 2,
        lambda x, y: np.sin(x - y) * np.sin(x + y),
        (ALL, ALL),
    ),
    Problem(
        "haversine",
        lambda a, b, c: (
            2 * np.arcsin(np.sqrt(np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(c / 2) ** 2))
        ),
        lambda a, b, c: (
            2 * np.arcsin(np.sqrt(np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(c / 2) ** 2))
        ),
        ((-1.5, 1.5), (-1.5, 1.5), (-3.0, 3.0)),
    ),
    Problem(
        "spherical law of cosines",
        lambda a, b, c: np.arccos(np.sin(a) * np.sin(b) + np.cos(a) * np.cos(b) * np.cos(c)),
        lambda a, b, c: (
            2 * np.arcsin(np.sqrt(np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(c / 2) ** 2))
        ),
        ((-1.5, 1.5), (-1.5, 1.5), (-3.0, 3.0)),
    ),
    Problem(
        "compound interest",
        lambda i, n: 100 * ((1 + i / n) ** n - 1) / (i / n),
        lambda i, n: 100 * np.expm1(n * np.log1p(i / n)) / (i / n),
        ((0.0, 1.0), (1.0, 1e20)),
    ),
    Problem("(1+1/n)ⁿ", lambda n: (1 + 1 / n) ** n, lambda n: np.exp(n * np.log1p(1 / n)), (POSITIVE,)),
    Problem("x³ − y³", lambda x, y: x**3 - y**3, lambda x, y: (x - y) * (x * x + x * y + y * y), (ALL, ALL)),
    Problem(
        "log x − log y",
        lambda x, y: np.log(x) - np.log(y),
        lambda x, y: np.where(np.abs(x - y) < 0.5 * y, np.log1p((x - y) / y), np.log(x) - np.log(y)),
        (POSITIVE, POSITIVE),
    ),
    Problem(
        "x log x − y log y",
        lambda x, y: x * np.log(x) - y * np.log(y),
        lambda x, y: x * np.log(x) - y * np.log(y),
        (POSITIVE, POSITIVE),
    ),
    Problem("1 − (1 − e^(−x²))", lambda x: 1 - (1 - np.exp(-x * x)), lambda x: np.exp(-x * x), (ALL,)),
    Problem(
        "x⁴ − y⁴", lambda x, y: x**4 - y**4, lambda x, y: (x - y) * (x + y) * (x * x + y * y), (ALL, ALL)
    ),
    Problem("x/(x²+1)", lambda x: x / (x * x + 1), lambda x: 1 / (x + 1 / x), (ALL,)),
    Problem(
        "x/(x+1) − (x+1)/(x−1)",
        lambda x: x / (x + 1) - (x + 1) / (x - 1),
        lambda x: -(3 * x + 1) / ((x - 1) * (x + 1)),
        (ALL,),
    ),
    Problem(
        "1/(1−x) − 1/(1+x)",
        lambda x: 1 / (1 - x) - 1 / (1 + x),
        lambda x: 2 * x / ((1 - x) * (1 + x)),
        (ALL,),
    ),
    Problem("log(1+1/x)", lambda x: np.log(1 + 1 / x), lambda x: np.log1p(1 / x), (POSITIVE,)),
    Problem("e^(x·log y)", lambda x, y: np.exp(x * np.log(y)), lambda x, y: y**x, (ALL, POSITIVE)),
    Problem(
        "bearing",
        lambda a, b: np.arctan2(np.sin(a) * np.cos(b), np.cos(a) - np.sin(b) * np.cos(a)),
        lambda a, b: np.arctan2(np.sin(a) * np.cos(b), np.cos(a) - np.sin(b) * np.cos(a)),
        ((-3, 3), (-1.5, 1.5)),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=64, help="inputs drawn for each problem")
    parser.add_argument("--only", default="", help="measure problems whose names contain this")
    parser.add_argument("--markdown", action="store_true", help="print the table of the documentation")
    options = parser.parse_args()
    chosen = [p for p in EVERYWHERE if options.only in p.name]
    print(told([e for p in chosen for e in measure(p, options.points)], options.markdown))


if __name__ == "__main__":
    main()
