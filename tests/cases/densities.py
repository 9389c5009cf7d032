"""Densities, entropies and divergences."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
V = ("value",)
BIG = [1000.0, 1001.0, 0.0]
OTHER = [-800.0, -802.0, 3.0]


def softmax(xp, x):
    return xp.exp(x) / xp.sum(xp.exp(x))


def gauss(xp, x, m, v):
    return xp.log(1.0 / xp.sqrt(2 * np.pi * v) * xp.exp(-((x - m) ** 2) / (2 * v)))


def kl(xp, a, b):
    p, q = softmax(xp, a), softmax(xp, b)
    return xp.sum(p * (xp.log(p) - xp.log(q)))


def jensen_shannon(xp, a, b):
    p, q = softmax(xp, a), softmax(xp, b)
    m = 0.5 * (p + q)
    return 0.5 * xp.sum(p * xp.log(p / m)) + 0.5 * xp.sum(q * xp.log(q / m))


def beta(xp, x, a, b):
    return xp.log(x ** (a - 1.0) * (1.0 - x) ** (b - 1.0))


CASES = (
    *family(
        "density",
        case("Gaussian", gauss, [50.0, -44.0, 0.5], 0.25, 1.0, wrt=1),
        case("Gaussian, to the variance", gauss, [50.0, -44.0, 0.5], 0.25, 1.0, wrt=2),
        case(
            "Poisson",
            lambda xp, e, y: xp.sum(y * xp.log(xp.exp(e)) - xp.exp(e)),
            [-800.0, 2.0, -1.0],
            [1.0, 3.0, 0.0],
        ),
        case(
            "Laplace",
            lambda xp, x, m, b: xp.log(xp.exp(-xp.abs(x - m) / b) / (2.0 * b)),
            [2000.0, -1.0],
            0.5,
            2.0,
            wrt=2,
        ),
        case(
            "Cauchy",
            lambda xp, x, m, s: xp.log(1.0 / (np.pi * s * (1.0 + ((x - m) / s) ** 2))),
            [1e170, 0.75],
            0.5,
            2.0,
            kinds=VG,
        ),
        case("logistic", lambda xp, x: xp.log(xp.exp(-x) / (1.0 + xp.exp(-x)) ** 2), [800.0, -800.0, 0.5]),
        case("Gumbel", lambda xp, x: xp.log(xp.exp(-(x + xp.exp(-x)))), [800.0, -6.0, 0.5]),
        case("Weibull", lambda xp, x, k: xp.log(k * x ** (k - 1.0) * xp.exp(-(x**k))), [40.0, 0.5], 2.0),
        case(
            "Gamma",
            lambda xp, x, a: xp.log(x ** (a - 1.0) * xp.exp(-x)),
            [1000.0, 1e-5],
            [200.0, 100.0],
            wrt=1,
        ),
        case("Beta", beta, [1e-5, 0.5], [100.0, 2000.0], [3.0, 2.0]),
        case("Beta, near the ends", beta, [1e-17, 1e-12], [2.0, 3.0], [1e17, 1e12], wrt=2, scale=1.0),
        case(
            "von Mises",
            lambda xp, x, k: xp.log(xp.exp(k * xp.cos(x)) / xp.exp(k)),
            [1e-6, 1e-3],
            [1e3, 800.0],
        ),
        case(
            "von Mises, to the concentration",
            lambda xp, x, k: xp.log(xp.exp(k * xp.cos(x)) / xp.exp(k)),
            [1e-6, 1e-3],
            [1e3, 800.0],
            wrt=1,
        ),
        case(
            "Dirichlet",
            lambda xp, p, a: xp.log(xp.prod(p ** (a - 1.0))),
            [1e-5, 0.5, 0.25],
            [80.0, 90.0, 100.0],
        ),
        case(
            "exponential tail",
            lambda xp, r, t: xp.log(1.0 - (1.0 - xp.exp(-r * t))),
            [50.0, 0.5],
            [20.0, 2.0],
        ),
        case("exponential distribution", lambda xp, r, t: 1.0 - xp.exp(-r * t), [1e-9, 0.5], [1e-4, 2.0]),
        case(
            "Student",
            lambda xp, x, n: xp.log((1.0 + x**2 / n) ** (-(n + 1.0) / 2.0)),
            [1e-9, 1e60],
            [4.0, 9.0],
            kinds=VG,
        ),
        case(
            "Student, to the freedom",
            lambda xp, x, n: xp.log((1.0 + x**2 / n) ** (-(n + 1.0) / 2.0)),
            [0.5, 3.0],
            [1e12, 1e9],
            wrt=1,
        ),
        case("Weibull survival", lambda xp, x, k: 1.0 - xp.exp(-(x**k)), [1e-5, 1e-3], 3.0),
        case(
            "Gaussian with log-scale",
            lambda xp, x, s: xp.log(xp.exp(-0.5 * (x / xp.exp(s)) ** 2) / xp.exp(s)),
            [50.0, 1e-200],
            [0.0, -460.0],
            wrt=1,
        ),
        case(
            "ratio of Gaussians",
            lambda xp, x: xp.exp(-0.5 * (x - 1.0) ** 2) / xp.exp(-0.5 * x**2),
            [50.0, -45.0],
        ),
        case(
            "Gaussian posterior",
            lambda xp, x: (
                xp.exp(-0.5 * (x - 1.0) ** 2)
                / (xp.exp(-0.5 * (x - 1.0) ** 2) + xp.exp(-0.5 * (x + 1.0) ** 2))
            ),
            [50.0, -45.0, 0.5],
        ),
        case("Gaussian in float32", gauss, [20.0, -14.0, 0.5], 0.25, 1.0, wrt=1, dtype="float32"),
        case(
            "log-normal",
            lambda xp, x, s: xp.log(xp.exp(-(xp.log(x) ** 2) / (2.0 * s**2)) / (x * s)),
            [1e20, 3.0],
            0.5,
            kinds=VG,
        ),
        case(
            "Pareto", lambda xp, x, a: xp.log(a * 2.0**a / x ** (a + 1.0)), [1e5, 30.0], [100.0, 400.0], wrt=1
        ),
        case(
            "multivariate Gaussian",
            lambda xp, x, m: xp.log(xp.exp(-0.5 * xp.sum((x - m) ** 2))),
            [50.0, -40.0, 3.0],
            [0.5, 1.0, 2.0],
            wrt=1,
        ),
        case(
            "normal tail",
            lambda xp, x: xp.log(0.5 * xp.special.erfc(x / np.sqrt(2.0))),
            [40.0, -40.0, 0.5],
            kinds=VG,
        ),
        case(
            "normal distribution",
            lambda xp, x: 0.5 * (1.0 + xp.special.erf(x / np.sqrt(2.0))),
            [-20.0, -8.0, 0.5],
            kinds=VG,
        ),
        case(
            "Mills ratio",
            lambda xp, x: xp.exp(-0.5 * x**2) / xp.special.erfc(x / xp.sqrt(2.0)),
            [30.0, 50.0],
            kinds=VG,
        ),
        case(
            "log beta function",
            lambda xp, a, b: xp.special.gammaln(a) + xp.special.gammaln(b) - xp.special.gammaln(a + b),
            [1e10, 3.0],
            [0.5, 2.0],
            kinds=V,
        ),
    ),
    *family(
        "entropy",
        case(
            "entropy of softmax",
            lambda xp, x: -xp.sum(softmax(xp, x) * xp.log(softmax(xp, x))),
            [0.0, -800.0, 1.5, 2.0],
            kinds=VG,
        ),
        case("KL of softmaxes", kl, BIG, OTHER, kinds=VG, wrt=1),
        case("KL, to the first", kl, [1000.0, 1001.0, 998.0], [-800.0, -802.0, 3.0], kinds=VG),
        case(
            "KL by the ratio",
            lambda xp, a, b: xp.sum(softmax(xp, a) * xp.log(softmax(xp, a) / softmax(xp, b))),
            BIG,
            OTHER,
            kinds=VG,
            wrt=1,
        ),
        case("Jensen-Shannon", jensen_shannon, BIG, OTHER, kinds=VG),
        case(
            "entropy of rows",
            lambda xp, x: (
                -xp.sum(
                    xp.exp(x)
                    / xp.sum(xp.exp(x), axis=1, keepdims=True)
                    * xp.log(xp.exp(x) / xp.sum(xp.exp(x), axis=1, keepdims=True)),
                    axis=1,
                )
            ),
            [[900.0, 901.0, 0.0], [-900.0, -901.0, -905.0]],
            kinds=VG,
        ),
        case(
            "distillation",
            lambda xp, a, b: -xp.sum(softmax(xp, b / 4.0) * xp.log(softmax(xp, a / 4.0))),
            [4000.0, 4001.0, 0.0],
            [-3200.0, -3202.0, 3.0],
            kinds=VG,
        ),
        case(
            "KL of Gaussians",
            lambda xp, m, s: -0.5 * xp.sum(1.0 + s - m**2 - xp.exp(s)),
            [1e-9, 3.0],
            [1e-6, -2.0],
            wrt=1,
            kinds=VG,
        ),
        case("KL of Gaussians, small", lambda xp, s: 0.5 * (xp.exp(s) - 1.0 - s), [1e-6, -1e-4]),
        case(
            "KL of Poissons",
            lambda xp, a, b: a * xp.log(a / b) - a + b,
            [3.0, 1.0],
            [3.0 - 2.0**-20, 1.0 + 2.0**-18],
            kinds=VG,
        ),
        case(
            "Renyi entropy",
            lambda xp, x: -xp.log(xp.sum(softmax(xp, x) ** 2)),
            [1000.0, 1001.0, 998.0],
            kinds=VG,
        ),
        case("mutual log-odds", lambda xp, a: xp.log(softmax(xp, a)[0]) - xp.log(softmax(xp, a)[1]), BIG),
        case(
            "divergence of Itakura and Saito",
            lambda xp, a, b: a / b - xp.log(a / b) - 1.0,
            [3.0, 1.0],
            [3.0 - 2.0**-20, 1.0 + 2.0**-18],
            kinds=VG,
        ),
    ),
)
