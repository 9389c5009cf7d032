"""Moments, densities, likelihoods, divergences and statistical mechanics, as they are written in many ways."""

from __future__ import annotations

import numpy as np

from cases.case import case, family
from cases.pieces import row, sigmoid, softmax

VG = ("value", "gradient")
V = ("value",)


CASES = (
    *family(
        "variance formulas",
        case(
            "skewness",
            lambda xp, x: xp.mean((x - xp.mean(x)) ** 3) / xp.mean((x - xp.mean(x)) ** 2) ** 1.5,
            [1e120, -2e120, 5e120, 3e119],
            kinds=VG,
        ),
        case(
            "cosine distance",
            lambda xp, a, b: 1.0 - xp.sum(a * b) / (xp.sqrt(xp.sum(a * a)) * xp.sqrt(xp.sum(b * b))),
            [1.0, 2.0, 3.0],
            [1.0 + 2.0**-27, 2.0, 3.0 - 2.0**-26],
            kinds=V,
        ),
        case(
            "variance of softmax",
            lambda xp, x, v: xp.sum(softmax(xp, x) * v**2) - xp.sum(softmax(xp, x) * v) ** 2,
            [900.0, 901.0, 899.0],
            [1e8, 1e8 + 1.0, 1e8 - 2.0],
            kinds=VG,
        ),
        case(
            "fisher lda",
            lambda xp, x, y: (xp.mean(x) - xp.mean(y)) ** 2 / (xp.mean(x**2) - xp.mean(x) ** 2),
            [1e8, 1e8 + 1.0, 1e8 + 2.5],
            [1e8 + 5.0, 1e8 + 8.0, 1e8 + 3.5],
            kinds=V,
        ),
        case(
            "autocov",
            lambda xp, x: xp.mean(x[1:] * x[:-1]) - xp.mean(x[1:]) * xp.mean(x[:-1]),
            [1e8, 1e8 + 1.0, 1e8 + 2.7, 1e8 - 3.0],
            kinds=VG,
        ),
    ),
    *family(
        "log prod formulas",
        case(
            "gauss prod",
            lambda xp, x: xp.log(xp.prod(xp.exp(-(x**2) / 2.0) / np.sqrt(2.0 * np.pi))),
            [30.0, -40.0, 2.0],
        ),
        case("rows", lambda xp, x: xp.log(xp.prod(x, axis=1)), [[1e-200, 2e-200], [1e200, 3e200]], kinds=VG),
        case(
            "naive bayes",
            lambda xp, L: xp.prod(L, axis=1) / xp.sum(xp.prod(L, axis=1)),
            [[1e-200, 2e-200, 3.0], [3e-200, 1e-200, 2.0]],
            kinds=VG,
        ),
        case("noisyor", lambda xp, p: 1.0 - xp.prod(1.0 - p), [1e-12, 2e-14, 3e-13], kinds=VG),
        case(
            "dirichlet kernel",
            lambda xp, p, a: xp.log(xp.prod(p ** (a - 1.0))),
            [1e-200, 1e-150, 0.5],
            [3.0, 2.5, 0.5],
            kinds=VG,
        ),
        case(
            "product sigmoids neg",
            lambda xp, x: -xp.log(xp.prod(1.0 / (1.0 + xp.exp(-x)))),
            [-400.0, -500.0, 3.0],
        ),
    ),
    *family(
        "geometric mean formulas",
        case("exponent mean", lambda xp, x: xp.prod(x) ** 0.25, [1e100, 2e100, 3e100, 5e99], kinds=VG),
        case("sqrt two", lambda xp, a, b: xp.sqrt(a * b), [1e200, 1e-200], [3e200, 5e-200], kinds=VG),
    ),
    *family(
        "entropy formulas",
        case(
            "bernoulli logit",
            lambda xp, x: (
                -sigmoid(xp, x) * xp.log(sigmoid(xp, x))
                - (1.0 - sigmoid(xp, x)) * xp.log(1.0 - sigmoid(xp, x))
            ),
            [800.0, -50.0, 0.5],
        ),
        case(
            "tsallis",
            lambda xp, x: (1.0 - xp.sum(softmax(xp, x) ** 2)) / (2.0 - 1.0),
            [900.0, 860.0, -4.0],
            kinds=VG,
        ),
        case(
            "softmax temp",
            lambda xp, x, T: -xp.sum(softmax(xp, x / T) * xp.log(softmax(xp, x / T))),
            [3.0, 3.0078125, 2.0],
            2.0**-8,
            wrt=1,
        ),
    ),
    *family(
        "kl formulas",
        case(
            "reverse",
            lambda xp, a, b: xp.sum(softmax(xp, b) * xp.log(softmax(xp, b) / softmax(xp, a))),
            [900.0, 860.0, -4.0],
            [-1000.0, -1010.0, -999.0],
            kinds=VG,
        ),
        case(
            "bernoulli logits",
            lambda xp, a, b: (
                sigmoid(xp, a) * xp.log(sigmoid(xp, a) / sigmoid(xp, b))
                + (1.0 - sigmoid(xp, a)) * xp.log((1.0 - sigmoid(xp, a)) / (1.0 - sigmoid(xp, b)))
            ),
            [50.0, -3.0],
            [900.0, -60.0],
            wrt=1,
            kinds=VG,
        ),
        case(
            "gauss two",
            lambda xp, m1, m2, s1, s2: xp.log(s2 / s1) + (s1**2 + (m1 - m2) ** 2) / (2.0 * s2**2) - 0.5,
            1.0,
            1.0 + 2.0**-30,
            2.0,
            2.0 + 2.0**-25,
            wrt=2,
            kinds=VG,
        ),
        case(
            "hellinger",
            lambda xp, a, b: 1.0 - xp.sum(xp.sqrt(softmax(xp, a) * softmax(xp, b))),
            [900.0, 896.0, -4.0],
            [-1000.0, -1010.0, -999.0],
            kinds=VG,
        ),
        case(
            "logits const",
            lambda xp, x: xp.sum(row(0.5, 0.25, 0.25) * xp.log(row(0.5, 0.25, 0.25) / softmax(xp, x))),
            [900.0, -900.0, 3.0],
        ),
    ),
    *family(
        "gaussian loglik formulas",
        case(
            "sum logpdf",
            lambda xp, x, mu, ls: xp.sum(
                xp.log(xp.exp(-0.5 * ((x - mu) / xp.exp(ls)) ** 2) / (xp.exp(ls) * xp.sqrt(2.0 * np.pi)))
            ),
            [80.0, -70.0, 0.5],
            0.25,
            -1.0,
            wrt=2,
        ),
        case("weibull surv", lambda xp, t, k: xp.log(xp.exp(-((t / 2.0) ** k))), [50.0, 3.0], 2.5),
        case(
            "logistic pdf",
            lambda xp, x, s: xp.log(xp.exp(-x / s) / (s * (1.0 + xp.exp(-x / s)) ** 2)),
            [2.0, -30.0, 0.5],
            2.0**-6,
        ),
        case(
            "exp tail diff",
            lambda xp, t, r: xp.exp(-r * t) - xp.exp(-r * (t + 1e-9)),
            [2.0, 0.5],
            1.5,
            kinds=VG,
        ),
        case(
            "mvn det",
            lambda xp, S: -0.5 * xp.log((2.0 * np.pi) ** 2 * xp.linalg.det(S)),
            np.array([[2.0, 0.5], [0.5, 1.0]]) * 1e-200,
            kinds=VG,
        ),
        case(
            "product pdf",
            lambda xp, x, m: xp.log(xp.prod(xp.exp(-0.5 * (x - m) ** 2))),
            [60.0, -40.0],
            0.5,
            wrt=1,
        ),
        case(
            "inv gauss",
            lambda xp, x, m: xp.log(xp.exp(-((x - m) ** 2) / (2 * m**2 * x))),
            [2000.0, 0.5],
            0.5,
            kinds=VG,
        ),
        case("weibull logpdf", lambda xp, t, k: xp.log(k * t ** (k - 1) * xp.exp(-(t**k))), [30.0, 0.5], 2.5),
        case(
            "skellam ish",
            lambda xp, a, b: xp.log(xp.exp(-a - b) * (a / b) ** 3.0),
            [500.0, 3.0],
            [400.0, 2.0],
            kinds=VG,
        ),
    ),
    *family(
        "mixture formulas",
        case(
            "softmax weights",
            lambda xp, z, x: xp.log(xp.sum(softmax(xp, z) * xp.exp(-0.5 * (x - row(-1.0, 0.5, 3.0)) ** 2))),
            [900.0, 901.0, 3.0],
            60.0,
        ),
        case(
            "kde",
            lambda xp, x, d, h: xp.log(
                xp.mean(xp.exp(-(((x - d) / h) ** 2) / 2.0) / (h * np.sqrt(2.0 * np.pi)))
            ),
            60.0,
            [-1.0, 0.5, 3.0],
            0.5,
            wrt=2,
        ),
    ),
    *family(
        "count loglik formulas",
        case(
            "nb logits",
            lambda xp, x: 3.0 * xp.log(1.0 - sigmoid(xp, x)) + 5.0 * xp.log(sigmoid(xp, x)),
            [800.0, -50.0, 0.5],
        ),
        case(
            "multinomial",
            lambda xp, x: xp.sum(row(3.0, 0.0, 2.0) * xp.log(softmax(xp, x))),
            [900.0, -900.0, 860.0],
        ),
        case(
            "zero trunc",
            lambda xp, e: 3.0 * e - xp.exp(e) - xp.log(1.0 - xp.exp(-xp.exp(e))),
            [-40.0, 2.0, -300.0],
        ),
        case("hurdle", lambda xp, x: xp.log(x / (xp.exp(x) - 1.0)), [1e-12, 800.0, 2.0]),
        case(
            "beta logits",
            lambda xp, x: xp.log(sigmoid(xp, x) ** 3.0 * (1 - sigmoid(xp, x)) ** 5.0),
            [400.0, -300.0, 0.5],
        ),
    ),
    *family(
        "weighted mean formulas",
        case("ess", lambda xp, lw: xp.sum(xp.exp(lw)) ** 2 / xp.sum(xp.exp(lw) ** 2), [900.0, 901.0, 850.0]),
        case(
            "kernel regression",
            lambda xp, x, xs, ys: (
                xp.sum(xp.exp(-((x - xs) ** 2) / 0.02) * ys) / xp.sum(xp.exp(-((x - xs) ** 2) / 0.02))
            ),
            9.0,
            [0.0, 1.0, 2.0],
            [1.0, 4.0, -2.0],
            kinds=VG,
        ),
        case("pnorm10", lambda xp, x: xp.sum(x**10.0) ** 0.1, [1e40, 2e40, 3e39], kinds=VG),
    ),
    *family(
        "boltzmann formulas",
        case(
            "energy beta",
            lambda xp, E, b: xp.sum(E * xp.exp(-b * E)) / xp.sum(xp.exp(-b * E)),
            [-1000.0, -999.0, -990.0],
            1.0,
            wrt=1,
        ),
        case(
            "population ratio",
            lambda xp, e, T: 3.0 * xp.exp(-e / T) / (1.0 + 3.0 * xp.exp(-e / T)),
            [800.0, -800.0, 2.0],
            1.0,
        ),
        case(
            "einstein cv",
            lambda xp, x: x**2 * xp.exp(x) / (xp.exp(x) - 1.0) ** 2,
            [1e-6, 800.0, 2.0],
            kinds=VG,
        ),
        case("bose logZ", lambda xp, x: -xp.sum(xp.log(1.0 - xp.exp(-x))), [1e-9, 50.0, 2.0]),
        case(
            "partition rot",
            lambda xp, T: xp.log(
                xp.sum((2.0 * np.arange(4.0) + 1.0) * xp.exp(-np.arange(4.0) * (np.arange(4.0) + 1.0) / T))
            ),
            2.0**-8,
            kinds=VG,
        ),
    ),
    *family(
        "survival formulas",
        case(
            "discrete",
            lambda xp, x: xp.sum(xp.log(1.0 - sigmoid(xp, x[:-1]))) + xp.log(sigmoid(xp, x[-1])),
            [50.0, -40.0, -800.0],
        ),
    ),
    *family(
        "stats formulas",
        case(
            "logit diff",
            lambda xp, p, q: xp.log(p / (1 - p)) - xp.log(q / (1 - q)),
            [0.25, 1e-15],
            [0.25 + 2.0**-40, 2e-15],
            kinds=VG,
        ),
        case(
            "welch",
            lambda xp, x, y: (
                (xp.mean(x) - xp.mean(y))
                / xp.sqrt((xp.mean(x**2) - xp.mean(x) ** 2) / 3.0 + (xp.mean(y**2) - xp.mean(y) ** 2) / 3.0)
            ),
            [1e6, 1e6 + 1.0, 1e6 + 2.5],
            [1e6 + 5.0, 1e6 + 8.0, 1e6 + 3.5],
            kinds=VG,
        ),
        case(
            "zscore",
            lambda xp, x: (x[0] - xp.mean(x)) / xp.sqrt(xp.mean(x**2) - xp.mean(x) ** 2),
            [1e8, 1e8 + 1.0, 1e8 + 2.5],
            kinds=VG,
        ),
    ),
)
