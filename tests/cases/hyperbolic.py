"""Hyperbolic functions, written in exponentials or beside their limits."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")


def squashed(xp, u, m, s):
    density = -0.5 * ((u - m) / xp.exp(s)) ** 2 - s - 0.5 * np.log(2 * np.pi)
    return xp.sum(density) - xp.sum(xp.log(1.0 - xp.tanh(u) ** 2))


def tanh(xp, x):
    return (xp.exp(x) - xp.exp(-x)) / (xp.exp(x) + xp.exp(-x))


def gelu(xp, x):
    return 0.5 * x * (1.0 + xp.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


CASES = (
    *family(
        "hyperbolic",
        case(
            "one minus tanh squared, in logs",
            lambda xp, x: xp.log(1.0 - xp.tanh(x) ** 2),
            [20.0, -30.0, 400.0, 0.5],
        ),
        case(
            "squashed Gaussian", squashed, [25.0, -0.5, -40.0], [24.0, 0.0, -41.0], [0.0, -1.0, 0.5], kinds=VG
        ),
        case(
            "squashed, with an epsilon",
            lambda xp, x: xp.log(1.0 - xp.tanh(x) ** 2 + 1e-6),
            [20.0, -6.0, 0.5],
            kinds=VG,
        ),
        case(
            "with an epsilon, moderate",
            lambda xp, x: xp.log(1.0 - xp.tanh(x) ** 2 + 1e-6),
            [0.25, -1.0, 0.5],
            kinds=VG,
            control=True,
        ),
        case(
            "log cosh by exponentials",
            lambda xp, x: xp.log((xp.exp(x) + xp.exp(-x)) / 2.0),
            [800.0, -800.0, 2.0],
        ),
        case("log cosh near 0", lambda xp, x: xp.log(xp.cosh(x)), [1e-6, -3e-5]),
        case("log cosh, large", lambda xp, x: xp.log(xp.cosh(x)), [800.0, -1000.0]),
        case("tanh by exponentials", tanh, [800.0, -800.0, 0.5]),
        case("tanh near 0", tanh, [1e-10, -1e-5]),
        case("one minus tanh", lambda xp, x: 1.0 - xp.tanh(x), [20.0, 15.0], kinds=VG),
        case("one plus tanh", lambda xp, x: 1.0 + xp.tanh(x), [-20.0, -15.0]),
        case("sech", lambda xp, x: 2.0 / (xp.exp(x) + xp.exp(-x)), [720.0, -500.0, 1.0]),
        case("sech squared", lambda xp, x: 1.0 / xp.cosh(x) ** 2, [360.0, -300.0, 1.0]),
        case("one minus tanh squared", lambda xp, x: 1.0 - xp.tanh(x) ** 2, [20.0, -30.0, 0.5]),
        case("sinh by exponentials", lambda xp, x: (xp.exp(x) - xp.exp(-x)) / 2.0, [1e-10, -1e-5, 2.0]),
        case("cosh less one", lambda xp, x: xp.cosh(x) - 1.0, [1e-9, 1e-4]),
        case("sinh less cosh", lambda xp, x: xp.cosh(x) - xp.sinh(x), [30.0, 5.0]),
        case("arctanh by logarithms", lambda xp, x: 0.5 * xp.log((1.0 + x) / (1.0 - x)), [1e-10, -1e-5, 0.5]),
        case("arcsinh by logarithms", lambda xp, x: xp.log(x + xp.sqrt(x**2 + 1.0)), [1e-10, -1e8, 1e200]),
        case("arccosh by logarithms", lambda xp, x: xp.log(x + xp.sqrt(x**2 - 1.0)), [1e200, 2.0]),
        case("Langevin function", lambda xp, x: 1.0 / xp.tanh(x) - 1.0 / x, [1e-4, 1e-2, 3.0]),
        case("x over tanh", lambda xp, x: x / xp.tanh(x), [1e-8, 1e-3, 800.0]),
        case("sinh over x", lambda xp, x: xp.sinh(x) / x, [1e-8, 1e-3, 2.0]),
        case("log sinh", lambda xp, x: xp.log(xp.sinh(x)), [800.0, 1e-9, 1.0]),
        case("ratio of sinhs", lambda xp, x, y: xp.sinh(x) / xp.sinh(y), [800.0, 3.0], [801.0, 3.5]),
        case("log tanh", lambda xp, x: xp.log(xp.tanh(x)), [20.0, 1e-9, 1.0]),
        case("GELU by tanh", gelu, [-6.0, -4.0, 0.5], kinds=VG),
    ),
)
