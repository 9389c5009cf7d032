"""Norms, distances, statistics, geometry and linear algebra; conventions at points without a derivative."""

from __future__ import annotations

import numpy as np
from cases.case import case, family

VG, V, G, GH = ("value", "gradient"), ("value",), ("gradient",), ("gradient", "product")
MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
OFFSET = 1e9 + np.array([0.0, 1.0, 2.7, -3.1, 0.3])
PAIRED = 1e8 + np.array([2.0, -1.0, 0.5, 4.0, 1.0])
HUGE, TINY = [3e200, -4e200, 12e200], [3e-170, -4e-170, 12e-170]


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


def heron(xp, a, b, c):
    s = (a + b + c) / 2.0
    return xp.sqrt(s * (s - a) * (s - b) * (s - c))


def law_of_cosines(xp, a, b, t):
    return xp.sqrt(a**2 + b**2 - 2.0 * a * b * xp.cos(t))


def haversine(xp, p, q, l):
    return xp.arccos(xp.sin(p) * xp.sin(q) + xp.cos(p) * xp.cos(q) * xp.cos(l))


def distances(xp, x, y):
    return xp.sum(x**2, axis=1)[:, None] + xp.sum(y**2, axis=1)[None, :] - 2.0 * xp.matmul(x, xp.transpose(y))


def rbf(xp, x, y):
    return xp.exp(-0.5 * distances(xp, x, y))


def guarded_norms(xp, x):
    r = xp.sqrt(xp.sum(x**2, axis=1))
    return xp.sum(xp.where(r > 0.5, r, xp.ones_like(r)))


CLOUD, NEAR = [[1e8, 1.0], [1e8 + 1.0, -2.0]], [[1e8 - 2.0, 3.0], [1e8, 0.5], [1e8 + 4.0, 1.0]]

CASES = (
    *family(
        "norm",
        case("hypotenuse", lambda xp, x, y: xp.sqrt(x * x + y * y), [3e200, 3e-200, 3.0], [4e200, 4e-200, 4.0], kinds=VG),
        case("huge norm", norm, [1e200, -2e200, 0.5e200], kinds=VG),
        case("tiny norm", norm, [0.0, 1e-180, 2e-180], kinds=VG),
        case("huge unit vector", unit, HUGE, kinds=VG),
        case("tiny unit vector", unit, TINY, kinds=VG, weights=[1.0, -2.0, 0.5]),
        case("norm with an epsilon", lambda xp, x: xp.sqrt(xp.sum(x**2) + 1e-12), [0.0, 1e-7, -3e-7], kinds=VG, control=True),
        case("norms of rows", lambda xp, x: xp.sqrt(xp.sum(x**2, axis=1)), [[1e200, 2e200], [3e-200, 1e-200], [3.0, 4.0]], kinds=VG),
        case("norms of columns", lambda xp, x: xp.sqrt(xp.sum(xp.square(x), axis=0)), [[1e200, 3e-200], [2e200, 1e-200]], kinds=VG),
        case("rows of unit length", lambda xp, x: x / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True)), [[1e200, 2e200], [3e-200, 1e-200]], kinds=VG),
        case("norm by a dot", lambda xp, x: xp.sqrt(xp.dot(x, x)), [1e200, -2e200, 0.5e200], kinds=VG),
        case("norm of three", lambda xp, x, y, z: (x**2 + y**2 + z**2) ** 0.5, [1e200, 1e-200], [2e200, 2e-200], [3e200, 1e-200], kinds=VG),
        case("distance", lambda xp, x, y: xp.sqrt(xp.sum((x - y) ** 2)), [1e200, -2e200], [-1e200, 1e200], kinds=VG),
        case("norm in float32", norm, [1e30, -2e30, 0.5e30], dtype="float32", kinds=VG),
        case("root mean square", lambda xp, x: xp.sqrt(xp.mean(x**2)), HUGE, kinds=VG),
        case("cosine of huge vectors", cosine, HUGE, [1e200, 2e200, -1e200], kinds=VG),
        case("cosine of tiny vectors", cosine, TINY, [1e-170, 2e-170, -1e-170], kinds=VG),
        case("reciprocal norm", lambda xp, x: 1.0 / xp.sqrt(xp.sum(x**2)), HUGE, kinds=VG),
        case("logarithm of a norm", lambda xp, x: xp.log(xp.sum(x**2)), HUGE, kinds=VG),
        case("norm cubed and back", lambda xp, x: xp.sum(xp.abs(x) ** 3) ** (1.0 / 3.0), [1e150, -2e150], kinds=VG),
        case("clipping by the norm", lambda xp, x: x * xp.minimum(1.0, 5.0 / norm(xp, x)), HUGE, kinds=VG),
        case("Frobenius norm", norm, [[1e200, 2e200], [-1e200, 3e200]], kinds=VG),
        case("complex division", lambda xp, a, b, c, d: (a * c + b * d) / (c**2 + d**2), 3e200, 1e200, 2e200, 1e200, kinds=VG),
        case("moderate norm", norm, [3.0, -4.0, 12.0], control=True),
    ),
    *family(
        "statistics",
        case("variance in one pass", one_pass, OFFSET, kinds=VG),
        case("variance in two passes", lambda xp, x: xp.mean((x - xp.mean(x)) ** 2), OFFSET, control=True, kinds=VG),
        case("variance of rows", lambda xp, x: xp.mean(x**2, axis=1) - xp.mean(x, axis=1) ** 2, [OFFSET, PAIRED], kinds=VG),
        case("covariance", covariance, OFFSET, PAIRED, kinds=VG),
        case("correlation", correlation, OFFSET, PAIRED, kinds=VG),
        case("skewness", skewness, OFFSET, kinds=VG),
        case("deviation in one pass", lambda xp, x: xp.sqrt(one_pass(xp, x)), OFFSET, kinds=VG),
        case("variance by sums", lambda xp, x: xp.sum(x**2) / 5.0 - (xp.sum(x) / 5.0) ** 2, OFFSET, kinds=VG),
        case("unbiased variance by sums", lambda xp, x: (xp.sum(x**2) - xp.sum(x) ** 2 / 5.0) / 4.0, OFFSET, kinds=VG),
        case("slope of a regression", lambda xp, x, y: (5.0 * xp.sum(x * y) - xp.sum(x) * xp.sum(y)) / (5.0 * xp.sum(x**2) - xp.sum(x) ** 2), OFFSET, PAIRED, kinds=VG, wrt=1),
        case("variance in float32", one_pass, [4096.0, 4097.0, 4098.5, 4094.25], dtype="float32", kinds=VG),
        case("weighted variance", lambda xp, x: xp.sum(np.array([0.25, 0.5, 0.125, 0.0625, 0.0625]) * x**2) - xp.sum(np.array([0.25, 0.5, 0.125, 0.0625, 0.0625]) * x) ** 2, OFFSET, kinds=VG),
        case("layer normalisation, huge", layer_norm, [[1e200, 2e200, -1e200], [1.0, 2.0, 4.0]], kinds=VG),
        case("layer normalisation, offset", layer_norm, [OFFSET, PAIRED], kinds=VG),
        case("coefficient of variation", lambda xp, x: xp.sqrt(one_pass(xp, x)) / xp.mean(x), OFFSET, kinds=VG),
        case("sum of deviations", lambda xp, x: xp.sum((x - xp.mean(x)) * np.arange(5.0)), OFFSET, kinds=VG),
        case("kurtosis, huge", lambda xp, x: xp.mean((x - xp.mean(x)) ** 4) / xp.mean((x - xp.mean(x)) ** 2) ** 2, 1e90 * np.array([1.0, 2.0, -3.0, 5.0]), kinds=VG),
    ),
    *family(
        "geometry",
        case("needle by Heron", heron, 1.0, 1.0, 2.0**-28, kinds=VG, wrt=2),
        case("flat triangle by Heron", heron, 3.0, 5.0, 8.0 - 2.0**-20, kinds=V),
        case("law of cosines", law_of_cosines, [1.0, 2.0], [1.0, 2.0 - 2.0**-30], [1e-9, 1e-6], kinds=VG, wrt=2),
        case("great circle", haversine, 0.5, 0.5, 1e-9, kinds=VG, wrt=2),
        case("angle of vectors", lambda xp, x, y: xp.arccos(cosine(xp, x, y)), [1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 2.0**-24], kinds=V),
        case("pairs of distances", distances, CLOUD, NEAR, kinds=VG),
        case("Gaussian kernel", rbf, CLOUD, NEAR, kinds=VG),
        case("one minus cosine", lambda xp, x, y: 1.0 - cosine(xp, x, y), [1.0, 2.0], [1.0, 2.0 + 2.0**-20], kinds=V),
        case("sagitta", lambda xp, r, c: r - xp.sqrt(r**2 - (c / 2.0) ** 2), [6.4e6, 10.0], [1.0, 12.0], wrt=1),
        case("chord", lambda xp, r, t: r * xp.sqrt(2.0 - 2.0 * xp.cos(t)), 3.0, [1e-8, 1e-3], wrt=1, kinds=VG),
        case("circular segment", lambda xp, t: 0.5 * (t - xp.sin(t)), [1e-4, 1e-2, 2.0]),
        case("spherical cap", lambda xp, t: 2.0 * np.pi * (1.0 - xp.cos(t)), [1e-8, 1.0]),
        case("angle by arctan of a ratio", lambda xp, y, x: xp.arctan(y / x), [1e200, 1e-200], [1e-200, 1e200], kinds=VG),
        case("determinant of two vectors", lambda xp, a, b, c, d: a * d - b * c, 1e8 + 1.0, 1e8, 1e8, 1e8 - 1.0, kinds=G),
    ),
    *family(
        "linear algebra",
        case("log of a tiny determinant", lambda xp, a: xp.log(xp.linalg.det(a)), MATRIX * 1e-120, kinds=VG),
        case("log of a huge determinant", lambda xp, a: xp.log(xp.linalg.det(a)), MATRIX * 1e120, kinds=VG),
        case("root of a determinant", lambda xp, a: xp.sqrt(xp.linalg.det(a)), MATRIX * 1e-120, kinds=VG),
        case("inverse times a vector", lambda xp, a, b: xp.matmul(xp.linalg.inv(a), b), MATRIX, [1.0, 2.0, 3.0], kinds=VG, control=True),
        case("Gaussian density", lambda xp, a, b: -0.5 * xp.dot(b, xp.linalg.solve(a, b)) - 0.5 * xp.log(xp.linalg.det(a)), MATRIX * 1e-120, [1e-60, 2e-60, 3e-60], kinds=VG),
        case("ratio of determinants", lambda xp, a, b: xp.log(xp.linalg.det(a) / xp.linalg.det(b)), MATRIX * 1e-120, MATRIX.T + np.eye(3), kinds=VG),
        case("quadratic form over a norm", lambda xp, x: xp.dot(x, xp.matmul(MATRIX, x)) / xp.dot(x, x), HUGE, kinds=VG),
        case("logarithm of a trace", lambda xp, a: xp.log(xp.trace(a)), MATRIX * 1e-120, kinds=VG, control=True),
        case("network", lambda xp, x, u, w: xp.mean((xp.matmul(xp.tanh(xp.matmul(x, u)), w) - 1.0) ** 2), [[0.5, -1.0], [2.0, 0.25]], [[0.5, -0.25, 0.75], [0.125, 0.5, -0.25]], [[1.0], [-0.5], [0.25]], wrt=1, control=True, kinds=VG),
        case("rational function", lambda xp, x: (x**3 - 2.0 * x + 1.0) / (x**2 + 1.0), [0.5, 0.25, 1.5], control=True),
        case("log of a quadratic", lambda xp, x: xp.log(1.0 + x**2), [3.0, -2.5, 1e3], control=True),
    ),
    *family(
        "conventions",
        case("root in the branch taken", lambda xp, x: xp.where(x < 1.0, x, xp.sqrt(x)), [0.0, 4.0, -1.0], kinds=GH),
        case("logarithm in the other branch", lambda xp, x: xp.where(x > 0.0, xp.log(x), x), [-1.0, -0.5, 2.0], kinds=VG),
        case("norms under where", guarded_norms, [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], kinds=VG),
        case("quotient under where", lambda xp, x, y: xp.where(y > 0.0, x / y, 0.0), [1.0, 2.0, 3.0], [0.0, 4.0, 0.0], kinds=VG),
        case("root of a square at 0", lambda xp, x: xp.sqrt(x**2), [0.0, -3.0, 2.0], kinds=G, weights=[1.0, 1.0, 1.0], expected={"gradient": [0.0, -1.0, 1.0]}),
        case("norm at 0", norm, [0.0, 0.0, 0.0], kinds=G, expected={"gradient": [0.0, 0.0, 0.0]}),
        case("norm squared at 0", lambda xp, x: xp.sqrt(xp.sum(x**2)) ** 2, [0.0, 0.0], kinds=GH),
        case("entropy with a zero", lambda xp, p: -xp.sum(p * xp.log(p)), [0.0, 0.5, 0.5], kinds=V, expected={"value": "0.693147180559945309417232121458"}),
        case("x log x under where", lambda xp, p: xp.sum(xp.where(p > 0.0, p * xp.log(p), 0.0)), [0.0, 0.25, 0.75], kinds=G, expected={"gradient": ["0", "-0.386294361119890618834464242916", "0.712317927548219072394328720203"]}),
        case("exp less one over x at 0", lambda xp, x: (xp.exp(x) - 1.0) / x, [0.0, 1.0], expected={"value": [1.0, "1.71828182845904523536028747135"], "gradient": [0.5, -0.5], "product": ["0.333333333333333333333333333333", "0.17957042711488190066"]}, weights=[1.0, -0.5], kinds=("value",)),
        case("log of one plus over x at 0", lambda xp, x: xp.log(1.0 + x) / x, [0.0], expected={"value": [1.0], "gradient": [-0.5], "product": ["0.666666666666666666666666666667"]}),
        case("one minus cosine over the square at 0", lambda xp, x: (1.0 - xp.cos(x)) / x**2, [0.0], expected={"value": [0.5], "gradient": [0.0], "product": ["-0.0833333333333333333333333333333"]}, scale=1.0),
        case("tanh over x at 0", lambda xp, x: xp.tanh(x) / x, [0.0], expected={"value": [1.0], "gradient": [0.0], "product": ["-0.666666666666666666666666666667"]}, scale=1.0),
        case("Bernoulli function at 0", lambda xp, x: x / (xp.exp(x) - 1.0), [0.0], expected={"value": [1.0], "gradient": [-0.5], "product": ["0.166666666666666666666666666667"]}),
        case("divergence with a zero", lambda xp, p: xp.sum(p * xp.log(p / np.array([0.25, 0.25, 0.5]))), [0.0, 0.5, 0.5], kinds=V, expected={"value": "0.346573590279972654708616060729"}),
        case("absolute value at 0", lambda xp, x: xp.abs(x), [0.0, -2.0, 3.0], kinds=G, weights=[1.0, 1.0, 1.0], expected={"gradient": [0.0, -1.0, 1.0]}),
        case("hypotenuse at 0", lambda xp, x, y: xp.sqrt(x**2 + y**2), [0.0, 3.0], [0.0, 4.0], kinds=G, weights=[1.0, 1.0], expected={"gradient": [0.0, 0.6]}),
        case("distance of a point to itself", lambda xp, x, y: xp.sqrt(xp.sum((x - y) ** 2, axis=1)), [[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [0.0, 0.0]], kinds=G, weights=[1.0, 1.0], expected={"gradient": [[0.0, 0.0], [0.6, 0.8]]}),
        case("sine over x under where", lambda xp, x: xp.where(x == 0.0, 1.0, xp.sin(x) / x), [0.0, 1e-4, 2.0], kinds=VG, scale=1.0),
        case("power of a zero", lambda xp, x: x**2.0, [0.0, -3.0]),
    ),
)
