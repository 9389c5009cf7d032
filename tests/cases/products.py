"""Products of many factors, mixtures, recursions over time."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
BIG = [1000.0, 1000.5, 999.0]
TABLE = [[-1000.0, 800.0], [-1001.0, 802.0], [-1003.0, 799.0]]
EMIT = np.array([[300.0, 100.0], [250.0, 400.0], [350.0, 330.0]])
MOVE = np.array([[0.5, -1.0], [2.0, 0.25]])
HMM = np.array([[0.75, 0.25], [0.5, 0.5]])
FAINT = 1e-140 * np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 4.0], [2.0, 2.0]])


def crf(xp, emit, move):
    alpha = emit[0]
    for t in range(1, 3):
        alpha = xp.log(xp.sum(xp.exp(alpha[:, None] + move + emit[t][None, :]), axis=0))
    return xp.log(xp.sum(xp.exp(alpha)))


def crf_likelihood(xp, emit, move):
    path = emit[0, 1] + move[1, 0] + emit[1, 0] + move[0, 0] + emit[2, 0]
    return crf(xp, emit, move) - path


def forward(xp, emit):
    """The forward recursion of a hidden Markov model on probabilities, which underflow."""
    alpha = np.array([0.5, 0.5]) * emit[0]
    for t in range(1, 4):
        alpha = xp.matmul(alpha, HMM) * emit[t]
    return xp.log(xp.sum(alpha))


def forward_logs(xp, log_emit):
    alpha = log_emit[0]
    for t in range(1, 3):
        alpha = xp.log(xp.matmul(xp.exp(alpha), HMM)) + log_emit[t]
    return xp.log(xp.sum(xp.exp(alpha)))


def ctc(xp, logits):
    """Two steps of the alignments of one label and a blank."""
    p = xp.exp(logits) / xp.sum(xp.exp(logits), axis=1, keepdims=True)
    return -xp.log(p[0, 0] * p[1, 1] + p[0, 1] * p[1, 1] + p[0, 1] * p[1, 0])


def gaussian_mixture(xp, x, m, w, s):
    return xp.log(xp.sum(w * xp.exp(-0.5 * ((x - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))))


def responsibilities(xp, x, m):
    p = xp.exp(-0.5 * (x[:, None] - m[None, :]) ** 2)
    return p / xp.sum(p, axis=1, keepdims=True)


def mixture_rows(xp, x, m):
    return xp.sum(xp.log(xp.mean(xp.exp(-0.5 * (x[:, None] - m[None, :]) ** 2), axis=1)))


def softmax_mixture(xp, z, logp):
    w = xp.exp(z) / xp.sum(xp.exp(z))
    return xp.log(xp.sum(w * xp.exp(logp)))


def zero_inflated(xp, logit, rate):
    p = 1.0 / (1.0 + xp.exp(-logit))
    return xp.log(p + (1.0 - p) * xp.exp(-rate))


def iwae(xp, logw):
    return xp.sum(xp.log(xp.mean(xp.exp(logw), axis=0)))


CASES = (
    *family(
        "products",
        case(
            "logarithm of a product",
            lambda xp, x: xp.log(xp.prod(x)),
            1e-60 * np.array([1.0, 2.0, 3.0, 5.0, 7.0, 11.0]),
            kinds=VG,
        ),
        case(
            "geometric mean",
            lambda xp, x: xp.prod(x) ** (1.0 / 128.0),
            np.linspace(500.0, 1500.0, 128),
            kinds=VG,
        ),
        case(
            "geometric mean of rows",
            lambda xp, x: xp.prod(x, axis=1) ** 0.25,
            [[1e-100, 2e-100, 3e-100, 4e-100], [1e100, 2e100, 3e100, 5e100]],
        ),
        case(
            "likelihood ratio of products",
            lambda xp, x, y: xp.log(xp.prod(x) / xp.prod(y)),
            [1e-200, 2e-200, 3.0],
            [3e-200, 1e-200, 0.5],
        ),
        case(
            "product of sigmoids",
            lambda xp, x: xp.log(xp.prod(1.0 / (1.0 + xp.exp(-x)))),
            [-800.0, 40.0, 2.0],
        ),
        case(
            "logarithm of a cumulative product",
            lambda xp, x: xp.log(xp.cumprod(x)),
            [1e-200, 1e-150, 1e-100],
            kinds=VG,
        ),
        case("product of densities", lambda xp, x: xp.log(xp.prod(xp.exp(-0.5 * x**2))), [30.0, 31.0, 20.0]),
        case(
            "root of a product", lambda xp, x, y: xp.sqrt(x * y), [1e200, 1e-200, 2.0], [2e200, 3e-200, 3.0]
        ),
        case("quotient of products", lambda xp, x, y: (x * y) / (x + y), [1e200, 3e-200], [2e200, 1e-200]),
        case(
            "factorials by a product", lambda xp, x: xp.log(xp.prod(x + np.arange(1.0, 5.0))), 1e90, kinds=VG
        ),
    ),
    *family(
        "mixture",
        case(
            "Gaussian mixture",
            gaussian_mixture,
            60.0,
            [-1.0, 0.5, 3.0],
            [0.25, 0.5, 0.25],
            [1.0, 1.0, 0.9375],
            wrt=1,
        ),
        case(
            "mixture, to the point",
            gaussian_mixture,
            60.0,
            [-1.0, 0.5, 3.0],
            [0.25, 0.5, 0.25],
            [1.0, 1.0, 0.9375],
        ),
        case(
            "mixture, to the weights",
            gaussian_mixture,
            60.0,
            [-1.0, 0.5, 3.0],
            [0.25, 0.5, 0.25],
            [1.0, 1.0, 0.9375],
            wrt=2,
        ),
        case(
            "mixture, to the widths",
            gaussian_mixture,
            60.0,
            [-1.0, 0.5, 3.0],
            [0.25, 0.5, 0.25],
            [1.0, 1.0, 0.9375],
            wrt=3,
        ),
        case("responsibilities", responsibilities, [60.0, -50.0], [-1.0, 0.5, 3.0]),
        case("responsibilities, to the means", responsibilities, [60.0, -50.0], [-1.0, 0.5, 3.0], wrt=1),
        case("mixture of rows", mixture_rows, [60.0, -50.0], [-1.0, 0.5, 3.0], wrt=1),
        case("mixture with softmax weights", softmax_mixture, BIG, [-1000.0, -1003.0, -1001.0]),
        case(
            "mixture, to the log-densities",
            softmax_mixture,
            [1.0, 2.0, 0.5],
            [-1000.0, -1003.0, -1001.0],
            wrt=1,
        ),
        case("zero-inflated Poisson at 0", zero_inflated, [-800.0, 40.0, -2.0], [900.0, 2.0, 3.0]),
        case("importance-weighted bound", iwae, TABLE),
        case(
            "kernel density",
            lambda xp, x, d: xp.log(xp.mean(xp.exp(-xp.abs(x - d)))),
            2000.0,
            [1.0, 2.5, 4.0],
        ),
    ),
    *family(
        "recursion",
        case("conditional random field", crf, EMIT, MOVE, kinds=VG, wrt=1),
        case("random field, to the emissions", crf, EMIT, MOVE, kinds=VG),
        case("random field likelihood", crf_likelihood, EMIT, MOVE, kinds=VG, wrt=1),
        case("hidden Markov model", forward, FAINT, kinds=VG),
        case("hidden Markov model in logs", forward_logs, EMIT, kinds=VG),
        case("alignments", ctc, [[1000.0, 1001.0], [-500.0, -502.0]], kinds=VG),
    ),
)
