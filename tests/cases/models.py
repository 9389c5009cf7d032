"""Models and losses in which several of the other computations meet."""

from __future__ import annotations

import numpy as np

from cases.case import case, family
from cases.pieces import sigmoid, softmax

VG, V = ("value", "gradient"), ("value",)
X = np.array([[100.0, 5.0], [-300.0, 64.0], [2.0, 90.0]])
W = [[8.0, -3.0, 1.0], [0.5, 2.0, -4.0]]
TARGET = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
COST = np.array([[0.0, 1.0], [2.0, 0.5]])
LATE = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])


def classifier(xp, w):
    return -xp.mean(xp.sum(TARGET * xp.log(softmax(xp, xp.matmul(X, w))), axis=1))


def ordinal(xp, x, cuts):
    return xp.log(sigmoid(xp, cuts[1:] - x) - sigmoid(xp, cuts[:-1] - x))


def plackett_luce(xp, s):
    return xp.sum(s) - xp.log(xp.sum(xp.exp(s))) - xp.log(xp.sum(xp.exp(s[1:]))) - s[2]


def cox(xp, risk):
    return xp.sum(xp.log(xp.exp(risk) / xp.matmul(LATE, xp.exp(risk))))


def sinkhorn(xp, f, t):
    g = -t * xp.log(xp.sum(xp.exp((f[:, None] - COST) / t), axis=0))
    return xp.sum(g)


def gumbel_softmax(xp, logits, noise, t):
    return softmax(xp, (logits + noise) / t)


def policy_gradient(xp, logits, old):
    ratio = xp.exp(xp.log(softmax(xp, logits)[1]) - old)
    return xp.minimum(ratio * 2.0, 1.25 * 2.0)


def tsne(xp, y):
    d = xp.sum((y[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    q = 1.0 / (1.0 + d)
    return q / xp.sum(q)


def negative_binomial(xp, m, r):
    p = r / (r + m)
    return r * xp.log(p) + 3.0 * xp.log(1.0 - p)


def logistic_mixture(xp, x, m, z):
    density = xp.exp(-(x - m)) / (1.0 + xp.exp(-(x - m))) ** 2
    return xp.log(xp.sum(softmax(xp, z) * density))


def discretised_logistic(xp, x, m, s):
    return xp.log(sigmoid(xp, (x + 0.5 - m) / s) - sigmoid(xp, (x - 0.5 - m) / s))


def hierarchical(xp, x):
    return xp.log(xp.exp(xp.log(xp.sum(xp.exp(x[0]))) - 3.0) + xp.exp(xp.log(xp.sum(xp.exp(x[1])))))


def gated_experts(xp, gate, experts):
    return xp.sum(softmax(xp, gate) * xp.tanh(experts))


def supervised_contrast(xp, z, t):
    e = xp.exp(z / t)
    return -xp.mean(xp.log(xp.sum(e * np.array([1.0, 1.0, 0.0, 0.0])) / xp.sum(e)))


def marginal_likelihood(xp, a):
    p = softmax(xp, a)
    return -xp.log(p[0] + p[1])


def spread(xp, x):
    """The entropy bonus of a policy, beside its cross entropy."""
    p = softmax(xp, x)
    return -xp.log(p[0]) - 0.125 * xp.sum(p * xp.log(p))


CASES = (
    *family(
        "models",
        case("linear classifier", classifier, W, kinds=VG),
        case("ordinal regression", ordinal, [40.0], [-60.0, 0.0, 3.0, 50.0], kinds=VG),
        case("ordinal regression, to the cuts", ordinal, [40.0], [-60.0, 0.0, 3.0, 50.0], wrt=1, kinds=VG),
        case("Plackett-Luce", plackett_luce, [900.0, -3.0, 1000.0], kinds=VG),
        case("Cox partial likelihood", cox, [900.0, 899.0, 1.0], kinds=VG),
        case("optimal transport step", sinkhorn, [3.0, 2.5], 0.00390625, kinds=VG),
        case("optimal transport, to the temperature", sinkhorn, [3.0, 2.5], 0.25, wrt=1, kinds=VG),
        case("Gumbel softmax", gumbel_softmax, [1.0, 2.0, 0.5], [0.25, -0.5, 1.5], 0.0009765625),
        case("clipped policy gradient", policy_gradient, [1000.0, 1001.0, 999.0], -0.5, kinds=VG),
        case("neighbour embedding, huge", tsne, [[1e160, 0.0], [0.0, 1.0], [3.0, -1e160]], kinds=V),
        case("neighbour embedding", tsne, [[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]], kinds=VG, control=True),
        case("negative binomial", negative_binomial, [1e-12, 3.0], [5.0, 1e14], kinds=VG),
        case("negative binomial, to its size", negative_binomial, [2.0, 3.0], [5.0, 1e14], wrt=1, kinds=VG),
        case(
            "mixture of logistics",
            logistic_mixture,
            900.0,
            [-1.0, 0.5, 3.0],
            [700.0, 701.0, 699.0],
            wrt=1,
            kinds=VG,
        ),
        case("discretised logistic", discretised_logistic, [60.0, -900.0, 3.0], 0.5, 1.0, kinds=VG),
        case("hierarchical softmax", hierarchical, [[900.0, 901.0], [897.0, 5.0]], kinds=VG),
        case("gated experts", gated_experts, [900.0, 901.0, 3.0], [0.5, -2.0, 1.0]),
        case("supervised contrast", supervised_contrast, [3.0, 2.5, 1.0, 2.75], 0.00390625, kinds=VG),
        case("two of three classes", marginal_likelihood, [1000.0, 1001.0, 1002.5], kinds=VG),
        case("two of three, confident", marginal_likelihood, [30.0, 31.0, -12.0], kinds=VG),
        case("entropy bonus", spread, [1000.0, 1001.0, 998.0], kinds=VG),
        case("Hill function", lambda xp, x, n: x**n / (2.0**n + x**n), [3.0, 0.5], 1100.0, kinds=VG),
        case(
            "odds ratio",
            lambda xp, a, b: xp.log(
                sigmoid(xp, a) * (1.0 - sigmoid(xp, b)) / (sigmoid(xp, b) * (1.0 - sigmoid(xp, a)))
            ),
            [800.0, 1.0],
            [-800.0, 50.0],
            kinds=VG,
        ),
        case(
            "Elo expectation",
            lambda xp, a, b: 1.0 / (1.0 + 10.0 ** ((b - a) / 400.0)),
            [3000.0, 1500.0],
            [1e6, 1400.0],
            kinds=VG,
        ),
        case(
            "Gompertz survival",
            lambda xp, t, b: xp.log(xp.exp(-(xp.exp(b * t) - 1.0) / b)),
            [1e-9, 30.0],
            0.25,
            kinds=VG,
        ),
        case(
            "log-logistic survival",
            lambda xp, t, b: xp.log(1.0 / (1.0 + t**b)),
            [1e-3, 1e5],
            [40.0, 80.0],
            kinds=VG,
        ),
        case(
            "complementary log-log",
            lambda xp, x: xp.log(1.0 - xp.exp(-xp.exp(x))),
            [-40.0, -800.0, 2.0],
            kinds=VG,
        ),
        case("inverse of complementary log-log", lambda xp, x: 1.0 - xp.exp(-xp.exp(x)), [-40.0, 1.0]),
        case(
            "Matern kernel",
            lambda xp, x, y: (
                (1.0 + xp.sqrt(3.0 * xp.sum((x - y) ** 2))) * xp.exp(-xp.sqrt(3.0 * xp.sum((x - y) ** 2)))
            ),
            [1.0, 2.0],
            [1.5, 0.0],
            kinds=VG,
            control=True,
        ),
        case(
            "kernel of a point with itself",
            lambda xp, x, y: xp.exp(-xp.sqrt(xp.sum((x - y) ** 2))),
            [1.0, 2.0],
            [1.0, 2.0],
            kinds=V,
        ),
        case(
            "rational quadratic kernel",
            lambda xp, d, a: (1.0 + d**2 / (2.0 * a)) ** (-a),
            [0.5, 2.0],
            [1e12, 1e15],
            kinds=VG,
        ),
        case(
            "Tsallis entropy",
            lambda xp, p, q: (1.0 - xp.sum(p**q)) / (q - 1.0),
            [0.5, 0.25, 0.25],
            1.0 + 2.0**-30,
            kinds=V,
        ),
        case(
            "generalised softplus",
            lambda xp, x, t: t * xp.log(1.0 + xp.exp(x / t)),
            [3.0, -2.0, 0.001953125],
            0.001953125,
            kinds=VG,
        ),
        case(
            "soft threshold",
            lambda xp, x: xp.log(1.0 + xp.exp(x - 5.0)) - xp.log(1.0 + xp.exp(-x - 5.0)),
            [800.0, -800.0, 1e-6],
            kinds=VG,
        ),
        case(
            "logit-normal",
            lambda xp, p: -0.5 * xp.log(p / (1.0 - p)) ** 2 - xp.log(p * (1.0 - p)),
            [1e-200, 0.25],
            kinds=VG,
        ),
        case("Poisson tail", lambda xp, m: 1.0 - xp.exp(-m) - m * xp.exp(-m), [1e-5, 2.0], kinds=VG),
        case(
            "birthday",
            lambda xp, n, d: 1.0 - xp.exp(-n * (n - 1.0) / (2.0 * d)),
            [23.0, 1e3],
            [365.0, 1e20],
            kinds=VG,
        ),
        case("noisy-or", lambda xp, p: 1.0 - xp.prod(1.0 - p), [1e-10, 1e-17, 1e-12], kinds=VG),
        case(
            "noisy-or in logs",
            lambda xp, x: xp.log(xp.prod(1.0 - xp.exp(x))),
            [-1e-10, -50.0, -1.0],
            kinds=VG,
        ),
        case(
            "discount factors",
            lambda xp, r: xp.exp(-r[0]) * xp.exp(-r[1]) / xp.exp(-r[2]),
            [800.0, 300.0, 1099.0],
        ),
        case(
            "sigmoid cross entropy of a product",
            lambda xp, u, v: -xp.log(sigmoid(xp, xp.dot(u, v))),
            [30.0, -20.0],
            [-15.0, 25.0],
            kinds=VG,
        ),
        case(
            "Barlow correlation",
            lambda xp, x, y: (
                xp.sum((x - xp.mean(x)) * (y - xp.mean(y)))
                / xp.sqrt(xp.sum((x - xp.mean(x)) ** 2) * xp.sum((y - xp.mean(y)) ** 2))
            ),
            [1e100, 2e100, -1e100],
            [3e-100, 1e-100, 2e-100],
            kinds=VG,
        ),
    ),
)
