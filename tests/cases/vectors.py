"""Norms and statistics."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
OFFSET = 1e9 + np.array([0.0, 1.0, 2.7, -3.1, 0.3])
PAIRED = 1e8 + np.array([2.0, -1.0, 0.5, 4.0, 1.0])
HUGE = [3e200, -4e200, 12e200]
TINY = [3e-170, -4e-170, 12e-170]


def norm(xp, x):
    return xp.sqrt(xp.sum(x**2))


def unit(xp, x):
    return x / xp.sqrt(xp.sum(x**2))


def cosine(xp, x, y):
    return xp.sum(x * y) / (xp.sqrt(xp.sum(x**2)) * xp.sqrt(xp.sum(y**2)))


def one_pass(xp, x):
    return xp.mean(x**2) - xp.mean(x) ** 2


def covariance(xp, x, y):
    return xp.mean(x * y) - xp.mean(x) * xp.mean(y)


def correlation(xp, x, y):
    return covariance(xp, x, y) / xp.sqrt(one_pass(xp, x) * one_pass(xp, y))


def skewness(xp, x):
    d = x - xp.mean(x)
    return xp.mean(d**3) / xp.mean(d**2) ** 1.5


def layer_norm(xp, x):
    m = xp.mean(x, axis=-1, keepdims=True)
    return (x - m) / xp.sqrt(xp.mean((x - m) ** 2, axis=-1, keepdims=True))


CASES = (
    *family(
        "norm",
        case(
            "hypotenuse",
            lambda xp, x, y: xp.sqrt(x * x + y * y),
            [3e200, 3e-200, 3.0],
            [4e200, 4e-200, 4.0],
            kinds=VG,
        ),
        case("huge norm", norm, [1e200, -2e200, 0.5e200], kinds=VG),
        case("tiny norm", norm, [0.0, 1e-180, 2e-180], kinds=VG),
        case("huge unit vector", unit, HUGE, kinds=VG),
        case("tiny unit vector", unit, TINY, kinds=VG, weights=[1.0, -2.0, 0.5]),
        case(
            "norm with an epsilon",
            lambda xp, x: xp.sqrt(xp.sum(x**2) + 1e-12),
            [0.0, 1e-7, -3e-7],
            kinds=VG,
            control=True,
        ),
        case(
            "norms of rows",
            lambda xp, x: xp.sqrt(xp.sum(x**2, axis=1)),
            [[1e200, 2e200], [3e-200, 1e-200], [3.0, 4.0]],
            kinds=VG,
        ),
        case(
            "norms of columns",
            lambda xp, x: xp.sqrt(xp.sum(xp.square(x), axis=0)),
            [[1e200, 3e-200], [2e200, 1e-200]],
            kinds=VG,
        ),
        case(
            "rows of unit length",
            lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True)),
            [[1e200, 2e200], [3e-200, 1e-200]],
            kinds=VG,
        ),
        case("norm by a dot", lambda xp, x: xp.sqrt(xp.dot(x, x)), [1e200, -2e200, 0.5e200], kinds=VG),
        case(
            "norm of three",
            lambda xp, x, y, z: (x**2 + y**2 + z**2) ** 0.5,
            [1e200, 1e-200],
            [2e200, 2e-200],
            [3e200, 1e-200],
            kinds=VG,
        ),
        case(
            "distance",
            lambda xp, x, y: xp.sqrt(xp.sum((x - y) ** 2)),
            [1e200, -2e200],
            [-1e200, 1e200],
            kinds=VG,
        ),
        case("norm in float32", norm, [1e30, -2e30, 0.5e30], dtype="float32", kinds=VG),
        case("root mean square", lambda xp, x: xp.sqrt(xp.mean(x**2)), HUGE, kinds=VG),
        case("cosine of huge vectors", cosine, HUGE, [1e200, 2e200, -1e200], kinds=VG),
        case("cosine of tiny vectors", cosine, TINY, [1e-170, 2e-170, -1e-170], kinds=VG),
        case("reciprocal norm", lambda xp, x: 1.0 / xp.sqrt(xp.sum(x**2)), HUGE, kinds=VG),
        case("logarithm of a norm", lambda xp, x: xp.log(xp.sum(x**2)), HUGE, kinds=VG),
        case(
            "norm cubed and back",
            lambda xp, x: xp.sum(xp.abs(x) ** 3) ** (1.0 / 3.0),
            [1e150, -2e150],
            kinds=VG,
        ),
        case("clipping by the norm", lambda xp, x: x * xp.minimum(1.0, 5.0 / norm(xp, x)), HUGE, kinds=VG),
        case("Frobenius norm", norm, [[1e200, 2e200], [-1e200, 3e200]], kinds=VG),
        case(
            "complex division",
            lambda xp, a, b, c, d: (a * c + b * d) / (c**2 + d**2),
            3e200,
            1e200,
            2e200,
            1e200,
            kinds=VG,
        ),
        case("moderate norm", norm, [3.0, -4.0, 12.0], control=True),
    ),
    *family(
        "statistics",
        case("variance in one pass", one_pass, OFFSET, kinds=VG),
        case(
            "variance in two passes",
            lambda xp, x: xp.mean((x - xp.mean(x)) ** 2),
            OFFSET,
            control=True,
            kinds=VG,
        ),
        case(
            "variance of rows",
            lambda xp, x: xp.mean(x**2, axis=1) - xp.mean(x, axis=1) ** 2,
            [OFFSET, PAIRED],
            kinds=VG,
        ),
        case("covariance", covariance, OFFSET, PAIRED, kinds=VG),
        case("correlation", correlation, OFFSET, PAIRED, kinds=VG),
        case("skewness", skewness, OFFSET, kinds=VG),
        case("deviation in one pass", lambda xp, x: xp.sqrt(one_pass(xp, x)), OFFSET, kinds=VG),
        case("variance by sums", lambda xp, x: xp.sum(x**2) / 5.0 - (xp.sum(x) / 5.0) ** 2, OFFSET, kinds=VG),
        case(
            "unbiased variance by sums",
            lambda xp, x: (xp.sum(x**2) - xp.sum(x) ** 2 / 5.0) / 4.0,
            OFFSET,
            kinds=VG,
        ),
        case(
            "slope of a regression",
            lambda xp, x, y: (
                (5.0 * xp.sum(x * y) - xp.sum(x) * xp.sum(y)) / (5.0 * xp.sum(x**2) - xp.sum(x) ** 2)
            ),
            OFFSET,
            PAIRED,
            kinds=VG,
            wrt=1,
        ),
        case("variance in float32", one_pass, [4096.0, 4097.0, 4098.5, 4094.25], dtype="float32", kinds=VG),
        case(
            "weighted variance",
            lambda xp, x: (
                xp.sum(np.array([0.25, 0.5, 0.125, 0.0625, 0.0625]) * x**2)
                - xp.sum(np.array([0.25, 0.5, 0.125, 0.0625, 0.0625]) * x) ** 2
            ),
            OFFSET,
            kinds=VG,
        ),
        case("layer normalisation, huge", layer_norm, [[1e200, 2e200, -1e200], [1.0, 2.0, 4.0]], kinds=VG),
        case("layer normalisation, offset", layer_norm, [OFFSET, PAIRED], kinds=VG),
        case(
            "coefficient of variation", lambda xp, x: xp.sqrt(one_pass(xp, x)) / xp.mean(x), OFFSET, kinds=VG
        ),
        case("sum of deviations", lambda xp, x: xp.sum((x - xp.mean(x)) * np.arange(5.0)), OFFSET, kinds=VG),
        case(
            "kurtosis, huge",
            lambda xp, x: xp.mean((x - xp.mean(x)) ** 4) / xp.mean((x - xp.mean(x)) ** 2) ** 2,
            1e90 * np.array([1.0, 2.0, -3.0, 5.0]),
            kinds=VG,
        ),
    ),
)
