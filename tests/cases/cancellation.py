"""Differences of numbers that are nearly equal: trigonometric, exponential, roots, quotients of differences."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG, V, G = ("value", "gradient"), ("value",), ("gradient",)
H = 2.0**-30


def root(xp, a, b, c):
    return (-b + xp.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)


def half_root(xp, b, c):
    return b - xp.sqrt(b**2 - c)


def vieta(xp, a, b, c):
    return 2.0 * c / (-b - xp.sqrt(b**2 - 4.0 * a * c))


CASES = (
    *family(
        "trigonometric",
        case("one minus cosine", lambda xp, x: 1.0 - xp.cos(x), [1e-8, 1e-5], kinds=VG),
        case("one minus cosine over the square", lambda xp, x: (1.0 - xp.cos(x)) / x**2, [1e-5, 2e-4]),
        case("sine over x", lambda xp, x: xp.sin(x) / x, [1e-6, 1e-4]),
        case(
            "sine over x at 0",
            lambda xp, x: xp.sin(x) / x,
            [0.0],
            expected={"value": [1.0], "gradient": [0.0], "product": ["-0.333333333333333333333333333333"]},
            scale=1.0,
        ),
        case("tangent of half", lambda xp, x: (1.0 - xp.cos(x)) / xp.sin(x), [1e-8, 1e-3, 2.0]),
        case("x less sine", lambda xp, x: x - xp.sin(x), [1e-5, 1e-2, 2.0]),
        case("tangent less sine", lambda xp, x: xp.tan(x) - xp.sin(x), [1e-5, 1e-2, 1.0]),
        case("sines nearby", lambda xp, x, e: xp.sin(x + e) - xp.sin(x), [1.0, 2.0], [1e-10, 1e-5], wrt=1),
        case("cosines nearby", lambda xp, x, e: xp.cos(x + e) - xp.cos(x), [1.0, 2.0], [1e-10, 1e-5], wrt=1),
        case("sine over x, rows", lambda xp, x: xp.sum(xp.sin(x) / x, axis=1), [[1e-6, 1.0], [2.0, 1e-3]]),
        case("versine in float32", lambda xp, x: 1.0 - xp.cos(x), [1e-4, 1e-2], dtype="float32"),
        case("arctangents nearby", lambda xp, n: xp.arctan(n + 1.0) - xp.arctan(n), [1e8, 3.0]),
        case("arccosine near 1", lambda xp, e: xp.arccos(1.0 - e), [1e-12, 1e-20]),
        case("one minus sine squared", lambda xp, x: 1.0 - xp.sin(x) ** 2, [1.57, 0.5]),
        case("cotangent less reciprocal", lambda xp, x: 1.0 / xp.tan(x) - 1.0 / x, [1e-4, 1e-2, 1.0]),
        case("arctangent over x", lambda xp, x: xp.arctan(x) / x, [1e-7, 1e-4]),
        case("arcsine over x", lambda xp, x: xp.arcsin(x) / x, [1e-7, 1e-4]),
        case("normalised sinc", lambda xp, x: xp.sin(np.pi * x) / (np.pi * x), [1e-7, 0.25]),
        case("spherical Bessel", lambda xp, x: xp.sin(x) / x**2 - xp.cos(x) / x, [1e-3, 1e-1, 2.0]),
        case("sine squared over the square", lambda xp, x: xp.sin(x) ** 2 / x**2, [1e-6, 1.0]),
        case("sine of half, doubled", lambda xp, x: 2.0 * (1.0 - xp.cos(x)), [1e-7, 1e-4]),
        case("double angle less one", lambda xp, x: xp.cos(2.0 * x) - 1.0, [1e-8, 1e-4]),
    ),
    *family(
        "exponential",
        case("exp less one", lambda xp, x: xp.exp(x) - 1.0, [1e-15, -3e-10], kinds=VG),
        case("exp less one over x", lambda xp, x: (xp.exp(x) - 1.0) / x, [1e-9, -1e-5]),
        case(
            "exp less one over x, batch", lambda xp, x: (xp.exp(x) - 1.0) / x, [[1e-9, 2.0], [-1e-5, -800.0]]
        ),
        case("one minus exp over x", lambda xp, x: (1.0 - xp.exp(-x)) / x, [1e-9, 1e-5, 3.0]),
        case("second remainder", lambda xp, x: (xp.exp(x) - 1.0 - x) / x**2, [1e-6, 1e-3, 1.0]),
        case("exp less its tangent", lambda xp, x: xp.exp(x) - 1.0 - x, [1e-7, 1e-3, 1.0]),
        case(
            "difference of exponentials",
            lambda xp, a, b: xp.exp(a) - xp.exp(b),
            [3.0, 1.0],
            [3.0 - 2.0**-40, 1.0 + 2.0**-35],
        ),
        case(
            "divided difference",
            lambda xp, a, b: (xp.exp(a) - xp.exp(b)) / (a - b),
            [3.0, 1.0],
            [3.0 - 2.0**-30, 1.0 + 2.0**-25],
        ),
        case("exp less one in float32", lambda xp, x: xp.exp(x) - 1.0, [1e-7, -3e-5], dtype="float32"),
        case(
            "quotient of expm1s",
            lambda xp, x: (xp.exp(2.0 * x) - 1.0) / (xp.exp(x) - 1.0),
            [1e-10, 800.0, 1.0],
            kinds=VG,
        ),
        case("power less one", lambda xp, x, p: x**p - 1.0, [1.0 + 2.0**-40, 2.0], [0.5, 1e-12]),
        case("Box-Cox", lambda xp, x, p: (x**p - 1.0) / p, [2.0, 3.0], [1e-10, 1e-5], wrt=1, kinds=VG),
        case("Box-Cox, to x", lambda xp, x, p: (x**p - 1.0) / p, [2.0, 3.0], [1e-10, 1e-5]),
        case(
            "Tsallis logarithm",
            lambda xp, x, q: (x ** (1.0 - q) - 1.0) / (1.0 - q),
            [2.0, 3.0],
            1.0 - 2.0**-30,
        ),
        case("Bernoulli function", lambda xp, x: x / (xp.exp(x) - 1.0), [1e-9, -800.0, 3.0]),
        case("Bernoulli function, large", lambda xp, x: x / (xp.exp(x) - 1.0), [800.0, 600.0], kinds=VG),
        case("exp of a logarithm", lambda xp, x: xp.exp(2.0 * xp.log(x)), [1e-100, 1e100, 3.0]),
        case(
            "product of exponentials",
            lambda xp, a, b: xp.exp(a) * xp.exp(b),
            [800.0, -1000.0],
            [-799.0, 998.0],
        ),
        case(
            "quotient of exponentials",
            lambda xp, a, b: xp.exp(a) / xp.exp(b),
            [800.0, -1000.0],
            [799.0, -998.0],
        ),
        case("power of an exponential", lambda xp, x: xp.exp(x) ** 0.5, [1000.0, -1400.0]),
    ),
    *family(
        "logarithmic",
        case("log of one plus", lambda xp, x: xp.log(1.0 + x), [1e-17, -1e-10], kinds=VG),
        case("log of one plus over x", lambda xp, x: xp.log(1.0 + x) / x, [1e-12, -1e-5]),
        case(
            "difference of logarithms",
            lambda xp, a, b: xp.log(a) - xp.log(b),
            [3.0, 1e200],
            [3.0 - 2.0**-40, 1e-200],
        ),
        case(
            "log of a ratio near 1",
            lambda xp, a, b: xp.log(a / b),
            [3.0, 1.0],
            [3.0 - 2.0**-40, 1.0 + 2.0**-35],
        ),
        case("log of one minus", lambda xp, x: xp.log(1.0 - x), [1e-17, 1e-10]),
        case("logarithms of neighbours", lambda xp, n: xp.log(n + 1.0) - xp.log(n), [1e10, 1e15, 2.0]),
        case("log less its tangent", lambda xp, x: xp.log(1.0 + x) - x, [1e-7, 1e-3, 1.0]),
        case("log over x less one", lambda xp, x: xp.log(x) / (x - 1.0), [1.0 + 2.0**-40, 2.0]),
        case(
            "logarithmic mean",
            lambda xp, a, b: (a - b) / (xp.log(a) - xp.log(b)),
            [3.0, 1.0],
            [3.0 - 2.0**-30, 1.0 + 2.0**-25],
            kinds=VG,
        ),
        case("log of a square", lambda xp, x: xp.log(x**2), [1e200, -1e-200, 3.0]),
        case("log of a quotient", lambda xp, x, y: xp.log(x / y), [1e200, 1e-200], [1e-200, 1e200]),
        case(
            "log of a root of a sum",
            lambda xp, x, y: xp.log(xp.sqrt(x**2 + y**2)),
            [1e200, 1e-200],
            [2e200, 3e-200],
        ),
        case("log of one plus a square", lambda xp, x: xp.log(1.0 + x * x), [1e-9, 1e-5]),
        case("log in float32", lambda xp, x: xp.log(1.0 + x), [1e-8, -1e-5], dtype="float32"),
        case("x times log of one plus its reciprocal", lambda xp, x: x * xp.log(1.0 + 1.0 / x), [1e12, 1e5]),
        case("entropy near certainty", lambda xp, e: -(1.0 - e) * xp.log(1.0 - e), [1e-14, 1e-8]),
        case("logit near a half", lambda xp, d: xp.log((0.5 + d) / (0.5 - d)), [1e-12, 1e-6]),
    ),
    *family(
        "roots",
        case("roots of neighbours", lambda xp, x: xp.sqrt(x + 1.0) - xp.sqrt(x), [1e10, 1e15]),
        case(
            "reciprocal roots of neighbours",
            lambda xp, x: 1.0 / xp.sqrt(x) - 1.0 / xp.sqrt(x + 1.0),
            [1e10, 1e15],
        ),
        case("root less one", lambda xp, x: xp.sqrt(1.0 + x) - 1.0, [1e-12, 1e-6, 2.0]),
        case("one minus a root", lambda xp, x: 1.0 - xp.sqrt(1.0 - x), [1e-12, 1e-6, 0.5]),
        case("one minus a root of a square", lambda xp, x: 1.0 - xp.sqrt(1.0 - x**2), [1e-9, 1e-4, 0.5]),
        case(
            "hypotenuse less a leg", lambda xp, x, y: xp.sqrt(x**2 + y**2) - x, [1e8, 3.0], [1e-3, 4.0], wrt=1
        ),
        case(
            "cube roots of neighbours",
            lambda xp, x: (x + 1.0) ** (1.0 / 3.0) - x ** (1.0 / 3.0),
            [1e10, 1e14],
            kinds=V,
        ),
        case("reciprocals of neighbours", lambda xp, x: 1.0 / x - 1.0 / (x + 1.0), [1e10, 1e15]),
        case("three reciprocals", lambda xp, x: 1.0 / (x + 1.0) - 2.0 / x + 1.0 / (x - 1.0), [1e6, 100.0]),
        case(
            "root less root of a difference",
            lambda xp, x: xp.sqrt(x) - xp.sqrt(x - 1e-8),
            [1.0, 4.0],
            kinds=V,
        ),
        case("x less its root", lambda xp, x: x - xp.sqrt(x**2 - 1.0), [1e7, 2.0]),
        case("conjugate quotient", lambda xp, x: (xp.sqrt(1.0 + x) - 1.0) / x, [1e-12, 1e-6, 2.0]),
        case("roots in float32", lambda xp, x: xp.sqrt(x + 1.0) - xp.sqrt(x), [1e5, 1e6], dtype="float32"),
        case("quadratic root", root, [1.0, 2.0], [1e8, 3e7], [1.0, -0.5], kinds=VG, wrt=1),
        case("quadratic root, to c", root, [1.0, 2.0], [1e8, 3e7], [1.0, -0.5], wrt=2),
        case("quadratic root, to a", root, [1.0, 2.0], [1e8, 3e7], [1.0, -0.5], kinds=VG),
        case("half quadratic root", half_root, [1e8, 3e7], [1.0, 2.0], kinds=VG, wrt=1),
        case("Vieta's other root", vieta, [1.0, 2.0], [-1e8, -3e7], [1.0, -0.5], kinds=VG, wrt=1),
        case("difference of squares", lambda xp, x, y: x**2 - y**2, [1e8 + 1.0, 3.0], [1e8, 3.0 - 2.0**-40]),
        case(
            "square of a sum less the squares",
            lambda xp, x, y: (x + y) ** 2 - x**2 - y**2,
            [1e10, 1.0],
            [1e-3, 1e-9],
        ),
        case(
            "square of a sum less a square",
            lambda xp, x, e: (x + e) ** 2 - x**2,
            [1.0, 3.0],
            [1e-12, 1e-8],
            wrt=1,
        ),
        case(
            "cube of a sum less a cube",
            lambda xp, x, e: (x + e) ** 3 - x**3,
            [1.0, 3.0],
            [1e-12, 1e-8],
            wrt=1,
        ),
    ),
    *family(
        "finite differences",
        case(
            "forward difference of sine", lambda xp, x: (xp.sin(x + H) - xp.sin(x)) / H, [1.0, 2.0], kinds=VG
        ),
        case(
            "central difference of exp", lambda xp, x: (xp.exp(x + H) - xp.exp(x - H)) / (2.0 * H), [1.0, 2.0]
        ),
        case(
            "second difference of exp",
            lambda xp, x: (xp.exp(x + H) - 2.0 * xp.exp(x) + xp.exp(x - H)) / H**2,
            [1.0, 2.0],
            kinds=VG,
        ),
        case(
            "second difference of cosine",
            lambda xp, x: (xp.cos(x + H) - 2.0 * xp.cos(x) + xp.cos(x - H)) / H**2,
            [1.0, 2.0],
            kinds=VG,
        ),
        case("difference of squares over the step", lambda xp, x: ((x + H) ** 2 - x**2) / H, [1.0, 2.0]),
        case(
            "difference of logarithms over the step",
            lambda xp, x: (xp.log(x + H) - xp.log(x)) / H,
            [1.0, 2.0],
        ),
        case(
            "difference of roots over the step", lambda xp, x: (xp.sqrt(x + H) - xp.sqrt(x)) / H, [1.0, 2.0]
        ),
        case(
            "difference of reciprocals over the step", lambda xp, x: (1.0 / (x + H) - 1.0 / x) / H, [1.0, 2.0]
        ),
        case(
            "difference of tanh over the step",
            lambda xp, x: (xp.tanh(x + H) - xp.tanh(x)) / H,
            [1.0, 2.0],
            kinds=VG,
        ),
    ),
)
