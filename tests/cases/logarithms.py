"""Logarithms of sums, differences and products of exponentials, mixtures, recursions in the log domain."""

from __future__ import annotations

import numpy as np
from cases.case import case, family

VG, V, G = ("value", "gradient"), ("value",), ("gradient",)
BIG, LOW = [1000.0, 1000.5, 999.0], [-800.0, -801.0]
TABLE = [[-1000.0, 800.0], [-1001.0, 802.0], [-1003.0, 799.0]]
CUBE = np.array([[[900.0, 901.0], [3.0, -2.0]], [[-900.0, -901.0], [700.0, 710.0]]])
EMIT = np.array([[300.0, 100.0], [250.0, 400.0], [350.0, 330.0]])
MOVE = np.array([[0.5, -1.0], [2.0, 0.25]])
HMM = np.array([[0.75, 0.25], [0.5, 0.5]])
FAINT = 1e-140 * np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 4.0], [2.0, 2.0]])


def lse(xp, x):
    return xp.log(xp.sum(xp.exp(x)))


def lse_by_maximum(xp, x):
    m = xp.max(x)
    return m + xp.log(xp.sum(xp.exp(x - m)))


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


def two_components(xp, a, b):
    return xp.log(0.25 * xp.exp(a) + 0.75 * xp.exp(b))


def zero_inflated(xp, logit, rate):
    p = 1.0 / (1.0 + xp.exp(-logit))
    return xp.log(p + (1.0 - p) * xp.exp(-rate))


def iwae(xp, logw):
    return xp.sum(xp.log(xp.mean(xp.exp(logw), axis=0)))


CASES = (
    *family(
        "logsumexp",
        case("logsumexp, large", lse, BIG),
        case("logsumexp, underflow", lse, LOW, kinds=VG),
        case("logsumexp with minus infinity", lse, [-np.inf, 1000.0, 1001.0], kinds=VG),
        case("weights, zero on the largest", lambda xp, x, b: xp.log(xp.sum(b * xp.exp(x))), [-1000.0, 5000.0, -1002.0], [2.0, 0.0, 0.5], kinds=VG),
        case("logmeanexp of columns", lambda xp, x: xp.log(xp.mean(xp.exp(x), axis=0)), TABLE, weights=[1.0, -2.0]),
        case("logsumexp by its maximum", lse_by_maximum, BIG, control=True),
        case("logsumexp, last axis", lambda xp, x: xp.log(xp.sum(xp.exp(x), axis=-1)), CUBE),
        case("logsumexp, two axes", lambda xp, x: xp.log(xp.sum(xp.exp(x), axis=(0, 2))), CUBE),
        case("logsumexp with temperature", lambda xp, x, t: t * xp.log(xp.sum(xp.exp(x / t))), [3.0, 2.5, 1.0], 0.001953125),
        case("logsumexp, to the temperature", lambda xp, x, t: t * xp.log(xp.sum(xp.exp(x / t))), [3.0, 2.5, 1.0], 0.25, wrt=1),
        case("logsumexp in float32", lse, [100.0, 100.5, 99.0], dtype="float32"),
        case("softmin", lambda xp, x: -xp.log(xp.sum(xp.exp(-x))), BIG),
        case("logsumexp of products", lambda xp, x, y: xp.log(xp.sum(xp.exp(x) * xp.exp(y))), BIG, [3.0, -1.0, 0.5]),
        case("logsumexp by a dot", lambda xp, x, w: xp.log(xp.dot(w, xp.exp(x))), BIG, [1.0, 0.5, 2.0]),
        case("logarithm of a matrix of sums", lambda xp, x: xp.log(xp.matmul(HMM, xp.exp(x))), [1000.0, 1001.0]),
        case("log base 2 of sums", lambda xp, x: xp.log2(xp.sum(2.0**x)), [1100.0, 1100.5, 1099.0]),
        case("log10 of sums", lambda xp, x: xp.log10(xp.sum(10.0**x)), [400.0, 400.5, 399.0]),
        case("power mean", lambda xp, x: xp.mean(x**8.0) ** 0.125, [1e60, 2e60, 0.5e60]),
        case("free energy", lambda xp, e, t: -t * xp.log(xp.sum(xp.exp(-e / t))), [-800.0, -799.0, -790.0], 0.5, kinds=VG, wrt=1),
        case("logsumexp of squares", lambda xp, x: xp.log(xp.sum(xp.exp(x**2))), [30.0, 29.0, 28.0]),
        case("difference of two logsumexps", lambda xp, x, y: lse(xp, x) - lse(xp, y), BIG, [900.0, 901.0, 0.0]),
        case("ratio of sums of exponentials", lambda xp, x, y: xp.log(xp.sum(xp.exp(x)) / xp.sum(xp.exp(y))), BIG, [900.0, 901.0, 0.0], wrt=1),
        case("logarithm of one and a sum", lambda xp, x: xp.log(1.0 + xp.sum(xp.exp(x))), [-50.0, -51.0]),
        case("logarithm of one and a large sum", lambda xp, x: xp.log(1.0 + xp.sum(xp.exp(x))), BIG),
        case("root of a sum of exponentials", lambda xp, x: xp.sqrt(xp.sum(xp.exp(x))), [-800.0, -801.0], kinds=VG),
        case("variance of exponentials, in logs", lambda xp, x: xp.log(xp.mean(xp.exp(2.0 * x))) - 2.0 * xp.log(xp.mean(xp.exp(x))), BIG),
    ),
    *family(
        "logaddexp",
        case("logaddexp", lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)), [-1000.0, 1000.0, 0.5], [-1001.0, 998.0, 0.25]),
        case("logaddexp, to the second", lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)), [-1000.0, 1000.0, 0.5], [-1001.0, 998.0, 0.25], wrt=1),
        case("three exponentials", lambda xp, a, b, c: xp.log(xp.exp(a) + xp.exp(b) + xp.exp(c)), [-1000.0, 1000.0], [-1001.0, 998.0], [-999.0, 10.0]),
        case("two components", two_components, [-1000.0, 1000.0], [-1001.0, 998.0]),
        case("logaddexp in float32", lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)), [-200.0, 200.0], [-201.0, 198.0], dtype="float32"),
        case("logaddexp of a shared term", lambda xp, x: xp.log(xp.exp(x) + xp.exp(2.0 * x)), [-500.0, 500.0, 1.0]),
        case("half the sum of exponentials", lambda xp, a, b: xp.log((xp.exp(a) + xp.exp(b)) / 2.0), [-1000.0, 1000.0], [-1001.0, 998.0]),
    ),
    *family(
        "logarithm of a difference",
        case("log1mexp near 0", lambda xp, x: xp.log(1.0 - xp.exp(x)), [-(2.0**-70), -1e-10]),
        case("log1mexp far out", lambda xp, x: xp.log(1.0 - xp.exp(x)), [-50.0, -100.0]),
        case("logdiffexp", lambda xp, a, b: xp.log(xp.exp(a) - xp.exp(b)), [1000.0, -1000.0, 3.0], [999.0, -1001.0, 3.0 - 2.0**-40]),
        case("logdiffexp, to the second", lambda xp, a, b: xp.log(xp.exp(a) - xp.exp(b)), [1000.0, -1000.0, 3.0], [999.0, -1001.0, 2.5], wrt=1),
        case("logarithm of expm1", lambda xp, x: xp.log(xp.exp(x) - 1.0), [1000.0, 1e-10, 2.0]),
        case("log1mexp of minus", lambda xp, x: xp.log(1.0 - xp.exp(-x)), [1e-10, 50.0, 0.5]),
        case("log1mexp in float32", lambda xp, x: xp.log(1.0 - xp.exp(x)), [-(2.0**-30), -20.0], dtype="float32"),
        case("interval of a logistic", lambda xp, a, b: xp.log(1.0 / (1.0 + xp.exp(-b)) - 1.0 / (1.0 + xp.exp(-a))), [40.0, -801.0], [41.0, -800.0]),
        case("log of one minus a power", lambda xp, x: xp.log(1.0 - 2.0**x), [-1e-10, -60.0]),
        case("geometric survival", lambda xp, p, k: xp.log(1.0 - (1.0 - p) ** k), [1e-12, 1e-3], [3.0, 50.0]),
        case("inverse softplus", lambda xp, y: xp.log(xp.exp(y) - 1.0), [800.0, 1e-9, 40.0]),
    ),
    *family(
        "products",
        case("logarithm of a product", lambda xp, x: xp.log(xp.prod(x)), 1e-60 * np.array([1.0, 2.0, 3.0, 5.0, 7.0, 11.0]), kinds=VG),
        case("geometric mean", lambda xp, x: xp.prod(x) ** (1.0 / 128.0), np.linspace(500.0, 1500.0, 128), kinds=VG),
        case("geometric mean of rows", lambda xp, x: xp.prod(x, axis=1) ** 0.25, [[1e-100, 2e-100, 3e-100, 4e-100], [1e100, 2e100, 3e100, 5e100]]),
        case("likelihood ratio of products", lambda xp, x, y: xp.log(xp.prod(x) / xp.prod(y)), [1e-200, 2e-200, 3.0], [3e-200, 1e-200, 0.5]),
        case("product of sigmoids", lambda xp, x: xp.log(xp.prod(1.0 / (1.0 + xp.exp(-x)))), [-800.0, 40.0, 2.0]),
        case("logarithm of a cumulative product", lambda xp, x: xp.log(xp.cumprod(x)), [1e-200, 1e-150, 1e-100], kinds=VG),
        case("product of densities", lambda xp, x: xp.log(xp.prod(xp.exp(-0.5 * x**2))), [30.0, 31.0, 20.0]),
        case("root of a product", lambda xp, x, y: xp.sqrt(x * y), [1e200, 1e-200, 2.0], [2e200, 3e-200, 3.0]),
        case("quotient of products", lambda xp, x, y: (x * y) / (x + y), [1e200, 3e-200], [2e200, 1e-200]),
        case("factorials by a product", lambda xp, x: xp.log(xp.prod(x + np.arange(1.0, 5.0))), 1e90, kinds=VG),
    ),
    *family(
        "mixture",
        case("Gaussian mixture", gaussian_mixture, 60.0, [-1.0, 0.5, 3.0], [0.25, 0.5, 0.25], [1.0, 1.0, 0.9375], wrt=1),
        case("mixture, to the point", gaussian_mixture, 60.0, [-1.0, 0.5, 3.0], [0.25, 0.5, 0.25], [1.0, 1.0, 0.9375]),
        case("mixture, to the weights", gaussian_mixture, 60.0, [-1.0, 0.5, 3.0], [0.25, 0.5, 0.25], [1.0, 1.0, 0.9375], wrt=2),
        case("mixture, to the widths", gaussian_mixture, 60.0, [-1.0, 0.5, 3.0], [0.25, 0.5, 0.25], [1.0, 1.0, 0.9375], wrt=3),
        case("responsibilities", responsibilities, [60.0, -50.0], [-1.0, 0.5, 3.0]),
        case("responsibilities, to the means", responsibilities, [60.0, -50.0], [-1.0, 0.5, 3.0], wrt=1),
        case("mixture of rows", mixture_rows, [60.0, -50.0], [-1.0, 0.5, 3.0], wrt=1),
        case("mixture with softmax weights", softmax_mixture, BIG, [-1000.0, -1003.0, -1001.0]),
        case("mixture, to the log-densities", softmax_mixture, [1.0, 2.0, 0.5], [-1000.0, -1003.0, -1001.0], wrt=1),
        case("zero-inflated Poisson at 0", zero_inflated, [-800.0, 40.0, -2.0], [900.0, 2.0, 3.0]),
        case("importance-weighted bound", iwae, TABLE),
        case("kernel density", lambda xp, x, d: xp.log(xp.mean(xp.exp(-xp.abs(x - d)))), 2000.0, [1.0, 2.5, 4.0]),
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
