"""Products, squares, powers and quotients that leave the floats on the way to results that do not."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
HUGE, TINY = [3e200, -4e200, 1.2e201], [3e-200, -4e-200, 1.2e-201]
METRIC = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


def centred(xp, x):
    return x - xp.mean(x, axis=1, keepdims=True)


CASES = (
    *family(
        "range",
        case("log of squares by rows", lambda xp, x: xp.log(xp.sum(x**2, axis=1)), [HUGE, TINY]),
        case("log2 of a product", lambda xp, x, y: xp.log2(x * y), [1e180, 1e-180], [1e170, 3e-170]),
        case("cosine", lambda xp, x, y: xp.sum(x * y) / xp.sqrt(xp.sum(x * x) * xp.sum(y * y)), HUGE, TINY),
        case("square over squares", lambda xp, x, y: x**2 / (x**2 + y**2), [1e200, 1e-200], [2e200, 3e-200]),
        case("squares into shares", lambda xp, x: x**2 / xp.sum(x**2), [3e200, 2e-200, -1.5]),
        case("effective sample size", lambda xp, w: xp.sum(w) ** 2 / xp.sum(w**2), [1e-200, 2e-200, 4e-200]),
        case(
            "root mean square in float32",
            lambda xp, x: xp.sqrt(xp.mean(x**2)),
            [1e30, -2e30],
            dtype="float32",
        ),
        case("repression", lambda xp, x, k, n: 1.0 / (1.0 + (x / k) ** n), [3.0, 0.5], 2.0, 1100.0, wrt=1),
        case(
            "inverse distances",
            lambda xp, d: xp.sum(d**-4.0 * np.array([1.0, 2.0])) / xp.sum(d**-4.0),
            [1e-150, 2e-150],
        ),
        case(
            "log-logistic density",
            lambda xp, x, b: xp.log(b * x ** (b - 1.0) / (1.0 + x**b) ** 2),
            [1e10, 1e-10],
            60.0,
        ),
        case(
            "Bayes by rows",
            lambda xp, a, b: a * b / xp.sum(a * b, axis=1, keepdims=True),
            [[1e-200, 2e-200], [1e200, 3e200]],
            [[1e-150, 3e-150], [2e190, 1e190]],
        ),
        case(
            "kurtosis by rows",
            lambda xp, x: xp.mean(centred(xp, x) ** 4, axis=1) / xp.mean(centred(xp, x) ** 2, axis=1) ** 2,
            [[1e90, 2e90, -3e90, 5e90], [1e-90, 2e-90, -3e-90, 7e-90]],
            kinds=("value",),
        ),
        case("Rayleigh quotient, tiny", lambda xp, x: xp.dot(x, xp.matmul(METRIC, x)) / xp.dot(x, x), TINY),
        case(
            "cube root of a determinant",
            lambda xp, a: xp.linalg.det(a) ** (1.0 / 3.0),
            METRIC * 1e-120,
            kinds=VG,
        ),
        case(
            "root of products over an axis",
            lambda xp, x: xp.prod(x, axis=1) ** 0.25,
            [HUGE[:1] * 4, [1e-100, 2e-100, 1e-150, 3.0]],
        ),
        case(
            "Gaussians of a scale, to the scale",
            lambda xp, x, m, s: xp.log(xp.sum(xp.exp(-0.5 * ((x - m) / s) ** 2) / s)),
            3e200,
            [1e200, 2e200],
            [1e200, 2e200],
            wrt=2,
        ),
    ),
)
