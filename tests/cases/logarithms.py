"""Logarithms of sums and differences of exponentials."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
BIG = [1000.0, 1000.5, 999.0]
LOW = [-800.0, -801.0]
TABLE = [[-1000.0, 800.0], [-1001.0, 802.0], [-1003.0, 799.0]]
CUBE = np.array([[[900.0, 901.0], [3.0, -2.0]], [[-900.0, -901.0], [700.0, 710.0]]])
HMM = np.array([[0.75, 0.25], [0.5, 0.5]])


def lse(xp, x):
    return xp.log(xp.sum(xp.exp(x)))


def lse_by_maximum(xp, x):
    m = xp.max(x)
    return m + xp.log(xp.sum(xp.exp(x - m)))


def two_components(xp, a, b):
    return xp.log(0.25 * xp.exp(a) + 0.75 * xp.exp(b))


CASES = (
    *family(
        "logsumexp",
        case("logsumexp, large", lse, BIG),
        case("logsumexp, underflow", lse, LOW, kinds=VG),
        case("logsumexp with minus infinity", lse, [-np.inf, 1000.0, 1001.0], kinds=VG),
        case(
            "weights, zero on the largest",
            lambda xp, x, b: xp.log(xp.sum(b * xp.exp(x))),
            [-1000.0, 5000.0, -1002.0],
            [2.0, 0.0, 0.5],
            kinds=VG,
        ),
        case(
            "logmeanexp of columns",
            lambda xp, x: xp.log(xp.mean(xp.exp(x), axis=0)),
            TABLE,
            weights=[1.0, -2.0],
        ),
        case("logsumexp by its maximum", lse_by_maximum, BIG, control=True),
        case("logsumexp, last axis", lambda xp, x: xp.log(xp.sum(xp.exp(x), axis=-1)), CUBE),
        case("logsumexp, two axes", lambda xp, x: xp.log(xp.sum(xp.exp(x), axis=(0, 2))), CUBE),
        case(
            "logsumexp with temperature",
            lambda xp, x, t: t * xp.log(xp.sum(xp.exp(x / t))),
            [3.0, 2.5, 1.0],
            0.001953125,
        ),
        case(
            "logsumexp, to the temperature",
            lambda xp, x, t: t * xp.log(xp.sum(xp.exp(x / t))),
            [3.0, 2.5, 1.0],
            0.25,
            wrt=1,
        ),
        case("logsumexp in float32", lse, [100.0, 100.5, 99.0], dtype="float32"),
        case("softmin", lambda xp, x: -xp.log(xp.sum(xp.exp(-x))), BIG),
        case(
            "logsumexp of products",
            lambda xp, x, y: xp.log(xp.sum(xp.exp(x) * xp.exp(y))),
            BIG,
            [3.0, -1.0, 0.5],
        ),
        case("logsumexp by a dot", lambda xp, x, w: xp.log(xp.dot(w, xp.exp(x))), BIG, [1.0, 0.5, 2.0]),
        case(
            "logarithm of a matrix of sums", lambda xp, x: xp.log(xp.matmul(HMM, xp.exp(x))), [1000.0, 1001.0]
        ),
        case("log base 2 of sums", lambda xp, x: xp.log2(xp.sum(2.0**x)), [1100.0, 1100.5, 1099.0]),
        case("log10 of sums", lambda xp, x: xp.log10(xp.sum(10.0**x)), [400.0, 400.5, 399.0]),
        case("power mean", lambda xp, x: xp.mean(x**8.0) ** 0.125, [1e60, 2e60, 0.5e60]),
        case(
            "free energy",
            lambda xp, e, t: -t * xp.log(xp.sum(xp.exp(-e / t))),
            [-800.0, -799.0, -790.0],
            0.5,
            kinds=VG,
            wrt=1,
        ),
        case("logsumexp of squares", lambda xp, x: xp.log(xp.sum(xp.exp(x**2))), [30.0, 29.0, 28.0]),
        case(
            "difference of two logsumexps", lambda xp, x, y: lse(xp, x) - lse(xp, y), BIG, [900.0, 901.0, 0.0]
        ),
        case(
            "ratio of sums of exponentials",
            lambda xp, x, y: xp.log(xp.sum(xp.exp(x)) / xp.sum(xp.exp(y))),
            BIG,
            [900.0, 901.0, 0.0],
            wrt=1,
        ),
        case("logarithm of one and a sum", lambda xp, x: xp.log(1.0 + xp.sum(xp.exp(x))), [-50.0, -51.0]),
        case("logarithm of one and a large sum", lambda xp, x: xp.log(1.0 + xp.sum(xp.exp(x))), BIG),
        case(
            "root of a sum of exponentials",
            lambda xp, x: xp.sqrt(xp.sum(xp.exp(x))),
            [-800.0, -801.0],
            kinds=VG,
        ),
        case(
            "variance of exponentials, in logs",
            lambda xp, x: xp.log(xp.mean(xp.exp(2.0 * x))) - 2.0 * xp.log(xp.mean(xp.exp(x))),
            BIG,
        ),
    ),
    *family(
        "logaddexp",
        case(
            "logaddexp",
            lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)),
            [-1000.0, 1000.0, 0.5],
            [-1001.0, 998.0, 0.25],
        ),
        case(
            "logaddexp, to the second",
            lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)),
            [-1000.0, 1000.0, 0.5],
            [-1001.0, 998.0, 0.25],
            wrt=1,
        ),
        case(
            "three exponentials",
            lambda xp, a, b, c: xp.log(xp.exp(a) + xp.exp(b) + xp.exp(c)),
            [-1000.0, 1000.0],
            [-1001.0, 998.0],
            [-999.0, 10.0],
        ),
        case("two components", two_components, [-1000.0, 1000.0], [-1001.0, 998.0]),
        case(
            "logaddexp in float32",
            lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)),
            [-200.0, 200.0],
            [-201.0, 198.0],
            dtype="float32",
        ),
        case(
            "logaddexp of a shared term",
            lambda xp, x: xp.log(xp.exp(x) + xp.exp(2.0 * x)),
            [-500.0, 500.0, 1.0],
        ),
        case(
            "half the sum of exponentials",
            lambda xp, a, b: xp.log((xp.exp(a) + xp.exp(b)) / 2.0),
            [-1000.0, 1000.0],
            [-1001.0, 998.0],
        ),
    ),
    *family(
        "logarithm of a difference",
        case("log1mexp near 0", lambda xp, x: xp.log(1.0 - xp.exp(x)), [-(2.0**-70), -1e-10]),
        case("log1mexp far out", lambda xp, x: xp.log(1.0 - xp.exp(x)), [-50.0, -100.0]),
        case(
            "logdiffexp",
            lambda xp, a, b: xp.log(xp.exp(a) - xp.exp(b)),
            [1000.0, -1000.0, 3.0],
            [999.0, -1001.0, 3.0 - 2.0**-40],
        ),
        case(
            "logdiffexp, to the second",
            lambda xp, a, b: xp.log(xp.exp(a) - xp.exp(b)),
            [1000.0, -1000.0, 3.0],
            [999.0, -1001.0, 2.5],
            wrt=1,
        ),
        case("logarithm of expm1", lambda xp, x: xp.log(xp.exp(x) - 1.0), [1000.0, 1e-10, 2.0]),
        case("log1mexp of minus", lambda xp, x: xp.log(1.0 - xp.exp(-x)), [1e-10, 50.0, 0.5]),
        case(
            "log1mexp in float32",
            lambda xp, x: xp.log(1.0 - xp.exp(x)),
            [-(2.0**-30), -20.0],
            dtype="float32",
        ),
        case(
            "interval of a logistic",
            lambda xp, a, b: xp.log(1.0 / (1.0 + xp.exp(-b)) - 1.0 / (1.0 + xp.exp(-a))),
            [40.0, -801.0],
            [41.0, -800.0],
        ),
        case("log of one minus a power", lambda xp, x: xp.log(1.0 - 2.0**x), [-1e-10, -60.0]),
        case("geometric survival", lambda xp, p, k: xp.log(1.0 - (1.0 - p) ** k), [1e-12, 1e-3], [3.0, 50.0]),
        case("inverse softplus", lambda xp, y: xp.log(xp.exp(y) - 1.0), [800.0, 1e-9, 40.0]),
    ),
)
