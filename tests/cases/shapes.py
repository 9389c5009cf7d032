"""Geometry and linear algebra."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
V = ("value",)
G = ("gradient",)
MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
HUGE = [3e200, -4e200, 12e200]
CLOUD = [[1e8, 1.0], [1e8 + 1.0, -2.0]]
NEAR = [[1e8 - 2.0, 3.0], [1e8, 0.5], [1e8 + 4.0, 1.0]]


def cosine(xp, x, y):
    return xp.sum(x * y) / (xp.sqrt(xp.sum(x**2)) * xp.sqrt(xp.sum(y**2)))


def heron(xp, a, b, c):
    s = (a + b + c) / 2.0
    return xp.sqrt(s * (s - a) * (s - b) * (s - c))


def law_of_cosines(xp, a, b, t):
    return xp.sqrt(a**2 + b**2 - 2.0 * a * b * xp.cos(t))


def haversine(xp, p, q, east):
    return xp.arccos(xp.sin(p) * xp.sin(q) + xp.cos(p) * xp.cos(q) * xp.cos(east))


def distances(xp, x, y):
    return xp.sum(x**2, axis=1)[:, None] + xp.sum(y**2, axis=1)[None, :] - 2.0 * xp.matmul(x, xp.transpose(y))


def rbf(xp, x, y):
    return xp.exp(-0.5 * distances(xp, x, y))


CASES = (
    *family(
        "geometry",
        case("needle by Heron", heron, 1.0, 1.0, 2.0**-28, kinds=VG, wrt=2),
        case("flat triangle by Heron", heron, 3.0, 5.0, 8.0 - 2.0**-20, kinds=V),
        case(
            "law of cosines", law_of_cosines, [1.0, 2.0], [1.0, 2.0 - 2.0**-30], [1e-9, 1e-6], kinds=VG, wrt=2
        ),
        case("great circle", haversine, 0.5, 0.5, 1e-9, kinds=VG, wrt=2),
        case(
            "angle of vectors",
            lambda xp, x, y: xp.arccos(cosine(xp, x, y)),
            [1.0, 2.0, 3.0],
            [1.0, 2.0, 3.0 + 2.0**-24],
            kinds=V,
        ),
        case("pairs of distances", distances, CLOUD, NEAR, kinds=VG),
        case("Gaussian kernel", rbf, CLOUD, NEAR, kinds=VG),
        case(
            "one minus cosine",
            lambda xp, x, y: 1.0 - cosine(xp, x, y),
            [1.0, 2.0],
            [1.0, 2.0 + 2.0**-20],
            kinds=V,
        ),
        case(
            "sagitta", lambda xp, r, c: r - xp.sqrt(r**2 - (c / 2.0) ** 2), [6.4e6, 10.0], [1.0, 12.0], wrt=1
        ),
        case(
            "chord", lambda xp, r, t: r * xp.sqrt(2.0 - 2.0 * xp.cos(t)), 3.0, [1e-8, 1e-3], wrt=1, kinds=VG
        ),
        case("circular segment", lambda xp, t: 0.5 * (t - xp.sin(t)), [1e-4, 1e-2, 2.0]),
        case("spherical cap", lambda xp, t: 2.0 * np.pi * (1.0 - xp.cos(t)), [1e-8, 1.0]),
        case(
            "angle by arctan of a ratio",
            lambda xp, y, x: xp.arctan(y / x),
            [1e200, 1e-200],
            [1e-200, 1e200],
            kinds=VG,
        ),
        case(
            "determinant of two vectors",
            lambda xp, a, b, c, d: a * d - b * c,
            1e8 + 1.0,
            1e8,
            1e8,
            1e8 - 1.0,
            kinds=G,
        ),
    ),
    *family(
        "linear algebra",
        case("log of a tiny determinant", lambda xp, a: xp.log(xp.linalg.det(a)), MATRIX * 1e-120, kinds=VG),
        case("log of a huge determinant", lambda xp, a: xp.log(xp.linalg.det(a)), MATRIX * 1e120, kinds=VG),
        case("root of a determinant", lambda xp, a: xp.sqrt(xp.linalg.det(a)), MATRIX * 1e-120, kinds=VG),
        case(
            "inverse times a vector",
            lambda xp, a, b: xp.matmul(xp.linalg.inv(a), b),
            MATRIX,
            [1.0, 2.0, 3.0],
            kinds=VG,
            control=True,
        ),
        case(
            "Gaussian density",
            lambda xp, a, b: -0.5 * xp.dot(b, xp.linalg.solve(a, b)) - 0.5 * xp.log(xp.linalg.det(a)),
            MATRIX * 1e-120,
            [1e-60, 2e-60, 3e-60],
            kinds=VG,
        ),
        case(
            "ratio of determinants",
            lambda xp, a, b: xp.log(xp.linalg.det(a) / xp.linalg.det(b)),
            MATRIX * 1e-120,
            MATRIX.T + np.eye(3),
            kinds=VG,
        ),
        case(
            "quadratic form over a norm",
            lambda xp, x: xp.dot(x, xp.matmul(MATRIX, x)) / xp.dot(x, x),
            HUGE,
            kinds=VG,
        ),
        case(
            "logarithm of a trace", lambda xp, a: xp.log(xp.trace(a)), MATRIX * 1e-120, kinds=VG, control=True
        ),
        case(
            "network",
            lambda xp, x, u, w: xp.mean((xp.matmul(xp.tanh(xp.matmul(x, u)), w) - 1.0) ** 2),
            [[0.5, -1.0], [2.0, 0.25]],
            [[0.5, -0.25, 0.75], [0.125, 0.5, -0.25]],
            [[1.0], [-0.5], [0.25]],
            wrt=1,
            control=True,
            kinds=VG,
        ),
        case(
            "rational function",
            lambda xp, x: (x**3 - 2.0 * x + 1.0) / (x**2 + 1.0),
            [0.5, 0.25, 1.5],
            control=True,
        ),
        case("log of a quadratic", lambda xp, x: xp.log(1.0 + x**2), [3.0, -2.5, 1e3], control=True),
    ),
)
