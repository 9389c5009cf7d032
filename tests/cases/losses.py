"""Losses of classification, ranking and robust regression."""

from __future__ import annotations

import numpy as np

from cases.case import case, family
from cases.pieces import sigmoid

VG = ("value", "gradient")
LABELS = np.array([1.0, 0.0, 0.0, 1.0, 1.0])

ROWS = [[0.0, 1.0, 40.0], [30.0, -5.0, 2.0]]
NEARLY = [30.0, 31.0, -12.0]
CLASSES = np.array([2, 0])
ONE_HOT = np.eye(3)[CLASSES]


def lse(xp, x):
    return xp.log(xp.sum(xp.exp(x), axis=-1))


def shares(xp, x):
    return xp.exp(x) / xp.sum(xp.exp(x), axis=-1, keepdims=True)


def rising(xp, x):
    return xp.exp(x) / (1.0 + xp.exp(x))


def bce(xp, x):
    p = sigmoid(xp, x)
    return -xp.mean(LABELS * xp.log(p) + (1.0 - LABELS) * xp.log(1.0 - p))


def bce_rising(xp, x, y):
    p = rising(xp, x)
    return -xp.sum(y * xp.log(p) + (1.0 - y) * xp.log(1.0 - p))


def focal(xp, x, y):
    p = sigmoid(xp, x)
    right = y * p + (1.0 - y) * (1.0 - p)
    return -xp.sum((1.0 - right) ** 2.0 * xp.log(right))


def contrast(xp, near, far, t):
    e = xp.exp(near / t)
    return -xp.log(e / (e + xp.sum(xp.exp(far / t))))


def nt_xent(xp, z, t):
    s = xp.matmul(z, xp.transpose(z)) / t
    e = xp.exp(s) * (1.0 - np.eye(4))
    return -xp.mean(xp.log(e[np.arange(4), np.array([1, 0, 3, 2])] / xp.sum(e, axis=1)))


def dice(xp, x):
    p = sigmoid(xp, x)
    return 1.0 - 2.0 * xp.sum(p * np.array([1.0, 0.0, 1.0])) / xp.sum(p + np.array([1.0, 0.0, 1.0]))


def huber(xp, r):
    return xp.where(xp.abs(r) < 1.0, 0.5 * r**2, xp.abs(r) - 0.5)


CASES = (
    *family(
        "binary cross entropy",
        case("from logits", bce, [-100.0, 100.0, 800.0, -800.0, 0.5]),
        case("from exp(x)", bce_rising, [-100.0, 100.0, 800.0, -40.0], [1.0, 0.0, 0.25, 0.5]),
        case("focal loss", focal, [-100.0, -100.0, 100.0, 100.0], [0.0, 1.0, 0.0, 1.0], kinds=VG),
        case("focal loss, moderate", focal, [-30.0, 3.0, 40.0, 20.0], [0.0, 1.0, 0.0, 1.0], kinds=VG),
        case(
            "binomial likelihood",
            lambda xp, x, k, n: k * xp.log(sigmoid(xp, x)) + (n - k) * xp.log(1.0 - sigmoid(xp, x)),
            [1221.56, 820.362, -50.0],
            [1.0, 0.0, 3.0],
            [1.0, 1.0, 10.0],
            kinds=VG,
        ),
        case(
            "label smoothing",
            lambda xp, x: -(0.9375 * xp.log(sigmoid(xp, x)) + 0.0625 * xp.log(1.0 - sigmoid(xp, x))),
            [40.0, -800.0, 2.0],
        ),
        case(
            "in float32",
            bce_rising,
            [-50.0, 60.0, 90.0, -30.0],
            [1.0, 0.0, 0.25, 0.5],
            dtype="float32",
            kinds=VG,
        ),
        case("dice", dice, [-800.0, -801.0, 40.0], kinds=VG),
        case(
            "KL of Bernoullis",
            lambda xp, a, b: (
                sigmoid(xp, a) * xp.log(sigmoid(xp, a) / sigmoid(xp, b))
                + (1.0 - sigmoid(xp, a)) * xp.log((1.0 - sigmoid(xp, a)) / (1.0 - sigmoid(xp, b)))
            ),
            [40.0, -50.0, 1.0],
            [-30.0, 60.0, 2.0],
            wrt=1,
            kinds=VG,
        ),
        case(
            "entropy of a Bernoulli",
            lambda xp, x: (
                -sigmoid(xp, x) * xp.log(sigmoid(xp, x))
                - (1.0 - sigmoid(xp, x)) * xp.log(1.0 - sigmoid(xp, x))
            ),
            [40.0, -50.0, 1.0],
            kinds=VG,
        ),
        case(
            "logistic regression",
            lambda xp, w: xp.mean(
                xp.log(
                    1.0
                    + xp.exp(
                        -np.array([1.0, -1.0, 1.0])
                        * xp.matmul(np.array([[100.0, 5.0], [-300.0, 64.0], [2.0, 900.0]]), w)
                    )
                )
            ),
            [-8.0, 3.0],
            kinds=VG,
        ),
    ),
    *family(
        "contrast",
        case("noise contrast", contrast, 0.75, [0.7509765625, 0.25, 0.748046875], 2.0**-10, wrt=1),
        case(
            "noise contrast, to the temperature",
            contrast,
            0.75,
            [0.7509765625, 0.25, 0.748046875],
            2.0**-10,
            wrt=2,
        ),
        case(
            "normalised temperature",
            nt_xent,
            [[30.0, 1.0], [29.0, 2.0], [-3.0, 25.0], [1.0, 24.0]],
            0.5,
            kinds=VG,
        ),
        case(
            "triplet by softplus",
            lambda xp, p, n: xp.sum(xp.log(1.0 + xp.exp(p - n))),
            [800.0, 1.0, 3.0],
            [1.0, 50.0, 2.5],
        ),
        case("N pairs", lambda xp, s: xp.log(1.0 + xp.sum(xp.exp(s[1:] - s[0]))), [1.0, 900.0, 901.0, 2.0]),
        case(
            "multi-similarity",
            lambda xp, s: 0.5 * xp.log(1.0 + xp.sum(xp.exp(-2.0 * (s - 0.5)))),
            [-500.0, -501.0, 1.0],
        ),
        case(
            "hinge",
            lambda xp, x: xp.sum(xp.maximum(0.0, 1.0 - x)),
            [0.5, 2.0, -1e200],
            kinds=VG,
            control=True,
        ),
        case("Huber", huber, [1e200, -0.5, 1e-200], kinds=VG),
        case("pseudo-Huber", lambda xp, r: xp.sqrt(1.0 + r**2) - 1.0, [1e-9, 1e-4, 3.0]),
        case("pseudo-Huber, huge", lambda xp, r: xp.sqrt(1.0 + r**2) - 1.0, [1e200, -3e180], kinds=VG),
        case("Cauchy loss", lambda xp, r: xp.log(1.0 + r**2), [1e-10, 1e-5, 2.0]),
        case("Cauchy loss, huge", lambda xp, r: xp.log(1.0 + r**2), [1e200, -3e180], kinds=VG),
        case("Welsch loss", lambda xp, r: 1.0 - xp.exp(-0.5 * r**2), [1e-9, 1e-4, 2.0]),
        case(
            "log cosh loss",
            lambda xp, a, b: xp.mean(xp.log(xp.cosh(a - b))),
            [1000.0, 1.0, 3.0],
            [1.0, 1.0 - 2.0**-30, 2.0],
            kinds=VG,
        ),
        case(
            "Poisson loss",
            lambda xp, e: xp.sum(np.array([1.0, 3.0, 0.0]) * xp.log(xp.exp(e)) - xp.exp(e)),
            [-800.0, 2.0, -1.0],
        ),
        case("Geman-McClure", lambda xp, r: r**2 / (1.0 + r**2), [1e200, 1e-3, 2.0], kinds=VG),
    ),
    *family(
        "confident classes",
        case("picked by rows", lambda xp, x: xp.mean(lse(xp, x) - x[np.arange(2), CLASSES]), ROWS),
        case("picked by one-hot", lambda xp, x: xp.mean(lse(xp, x) - xp.sum(ONE_HOT * x, axis=1)), ROWS),
        case("picked by a dot", lambda xp, x: lse(xp, x[0]) - xp.dot(ONE_HOT[0], x[0]), ROWS),
        case("distances from the logit", lambda xp, x: xp.log(xp.sum(xp.exp(x - x[2]))), ROWS[0]),
        case("shifted by hand", lambda xp, x: xp.max(x) + lse(xp, x - xp.max(x)) - x[2], ROWS[0]),
        case("perplexity", lambda xp, x: xp.exp(xp.mean(lse(xp, x) - x[np.arange(2), CLASSES])), ROWS),
        case("residual", lambda xp, x: ONE_HOT - shares(xp, x), ROWS),
        case("binary Brier score", lambda xp, x, y: xp.mean((y - sigmoid(xp, x)) ** 2), ROWS[0], ONE_HOT[0]),
        case("what the largest lacks", lambda xp, x: 1.0 - xp.max(shares(xp, x), axis=1), ROWS),
        case("share of a slice", lambda xp, x: -xp.log(xp.sum(shares(xp, x)[:2])), NEARLY),
        case("log-sums of a slice", lambda xp, x: lse(xp, x) - lse(xp, x[:2]), NEARLY),
    ),
)
