"""Sigmoids, softplus, hyperbolic functions, and the losses made of them."""

from __future__ import annotations

import numpy as np
from cases.case import case, family

VG, V, G = ("value", "gradient"), ("value",), ("gradient",)
SPREAD = [-800.0, -50.0, 0.5, 40.0]
LABELS = np.array([1.0, 0.0, 0.0, 1.0, 1.0])


def sigmoid(xp, x):
    return 1.0 / (1.0 + xp.exp(-x))


def rising(xp, x):
    return xp.exp(x) / (1.0 + xp.exp(x))


def bce(xp, x):
    p = sigmoid(xp, x)
    return -xp.mean(LABELS * xp.log(p) + (1.0 - LABELS) * xp.log(1.0 - p))


def bce_rising(xp, x, y):
    p = rising(xp, x)
    return -xp.sum(y * xp.log(p) + (1.0 - y) * xp.log(1.0 - p))


def softplus(xp, x):
    return xp.log(1.0 + xp.exp(x))


def stable_softplus(xp, x):
    return xp.maximum(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))


def focal(xp, x, y):
    p = sigmoid(xp, x)
    right = y * p + (1.0 - y) * (1.0 - p)
    return -xp.sum((1.0 - right) ** 2.0 * xp.log(right))


def squashed(xp, u, m, s):
    density = -0.5 * ((u - m) / xp.exp(s)) ** 2 - s - 0.5 * np.log(2 * np.pi)
    return xp.sum(density) - xp.sum(xp.log(1.0 - xp.tanh(u) ** 2))


def tanh(xp, x):
    return (xp.exp(x) - xp.exp(-x)) / (xp.exp(x) + xp.exp(-x))


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


def gelu(xp, x):
    return 0.5 * x * (1.0 + xp.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def huber(xp, r):
    return xp.where(xp.abs(r) < 1.0, 0.5 * r**2, xp.abs(r) - 0.5)


CASES = (
    *family(
        "sigmoid",
        case("sigmoid", sigmoid, SPREAD),
        case("sigmoid far left", sigmoid, [-600.0, -500.0]),
        case("sigmoid of exp(x)", rising, [800.0, -3.0, 40.0]),
        case("sigmoid in float32", sigmoid, [-90.0, -20.0, 0.5, 20.0], dtype="float32"),
        case("complement of sigmoid", lambda xp, x: 1.0 - sigmoid(xp, x), [40.0, 700.0, -2.0]),
        case("slope of sigmoid", lambda xp, x: sigmoid(xp, x) * (1.0 - sigmoid(xp, x)), [40.0, -600.0, 0.5]),
        case("slope by exponentials", lambda xp, x: xp.exp(-x) / (1.0 + xp.exp(-x)) ** 2, [40.0, -600.0, 0.5]),
        case("swish", lambda xp, x: x / (1.0 + xp.exp(-x)), [-800.0, -40.0, 0.5, 800.0]),
        case("two-class softmax", lambda xp, a, b: xp.exp(a) / (xp.exp(a) + xp.exp(b)), [1000.0, -1000.0, 3.0], [1001.0, -1002.0, -40.0]),
        case("difference of sigmoids", lambda xp, a, b: sigmoid(xp, a) - sigmoid(xp, b), [40.0, 1.0], [39.0, 1.0 - 2.0**-30]),
        case("sigmoid less a half", lambda xp, x: sigmoid(xp, x) - 0.5, [1e-10, -3e-9, 1.0]),
        case("bipolar sigmoid", lambda xp, x: 2.0 * sigmoid(xp, x) - 1.0, [1e-10, -3e-9, 800.0]),
        case("bipolar by exponentials", lambda xp, x: (1.0 - xp.exp(-x)) / (1.0 + xp.exp(-x)), [1e-10, -800.0, 800.0]),
        case("Fermi function", lambda xp, e, m, t: 1.0 / (xp.exp((e - m) / t) + 1.0), [3.0, 0.0, 1.25], 1.0, 0.00390625),
        case("Fermi function, to the temperature", lambda xp, e, m, t: 1.0 / (xp.exp((e - m) / t) + 1.0), [1.5, 0.5, 1.25], 1.0, 0.0078125, wrt=2),
        case("square of a sigmoid", lambda xp, x: sigmoid(xp, x) ** 2, [-300.0, 40.0]),
        case("quotient of sigmoids", lambda xp, a, b: sigmoid(xp, a) / sigmoid(xp, b), [-800.0, -750.0], [-801.0, -752.0]),
        case("logistic growth", lambda xp, t, k, r: k * xp.exp(r * t) / (k + xp.exp(r * t) - 1.0), [900.0, 2.0, 0.5], 50.0, 1.0, kinds=VG),
    ),
    *family(
        "log-sigmoid",
        case("log-sigmoid", lambda xp, x: xp.log(sigmoid(xp, x)), [-800.0, -300.0, 0.5]),
        case("log-sigmoid far right", lambda xp, x: xp.log(sigmoid(xp, x)), [40.0, 60.0]),
        case("log of one minus sigmoid", lambda xp, x: xp.log(1.0 - sigmoid(xp, x)), [40.0, 800.0, -1.0]),
        case("log of one minus rising", lambda xp, x: xp.log(1.0 - rising(xp, x)), [40.0, 800.0, -50.0]),
        case("minus log of one and exp", lambda xp, x: -xp.log(1.0 + xp.exp(-x)), [-800.0, 40.0, 0.5]),
        case("log1p of an exponential", lambda xp, x: xp.log1p(xp.exp(x)), [800.0, 3.0, -40.0]),
        case("log-sigmoid in float32", lambda xp, x: xp.log(sigmoid(xp, x)), [-100.0, 20.0, 0.5], dtype="float32"),
        case("logit of sigmoid", lambda xp, x: xp.log(sigmoid(xp, x) / (1.0 - sigmoid(xp, x))), [40.0, -800.0, 0.5]),
        case("log of sigmoid slope", lambda xp, x: xp.log(sigmoid(xp, x) * (1.0 - sigmoid(xp, x))), [40.0, -800.0, 0.5]),
        case("log of a softmax pair", lambda xp, a, b: xp.log(xp.exp(a) / (xp.exp(a) + xp.exp(b))), [1000.0, -1000.0, 40.0], [1001.0, -1002.0, -1.0]),
        case("Bradley-Terry", lambda xp, r: -xp.log(sigmoid(xp, r[0] - r[1])) - xp.log(sigmoid(xp, r[2] - r[1])), [900.0, 50.0, 1.0]),
        case("log of a Fermi function", lambda xp, x, t: -t * xp.log(1.0 + xp.exp(-x / t)), [-3.0, 2.0], 0.001953125, kinds=VG, wrt=1),
    ),
    *family(
        "binary cross entropy",
        case("from logits", bce, [-100.0, 100.0, 800.0, -800.0, 0.5]),
        case("from exp(x)", bce_rising, [-100.0, 100.0, 800.0, -40.0], [1.0, 0.0, 0.25, 0.5]),
        case("focal loss", focal, [-100.0, -100.0, 100.0, 100.0], [0.0, 1.0, 0.0, 1.0], kinds=VG),
        case("focal loss, moderate", focal, [-30.0, 3.0, 40.0, 20.0], [0.0, 1.0, 0.0, 1.0], kinds=VG),
        case("binomial likelihood", lambda xp, x, k, n: k * xp.log(sigmoid(xp, x)) + (n - k) * xp.log(1.0 - sigmoid(xp, x)), [1221.56, 820.362, -50.0], [1.0, 0.0, 3.0], [1.0, 1.0, 10.0], kinds=VG),
        case("label smoothing", lambda xp, x: -(0.9375 * xp.log(sigmoid(xp, x)) + 0.0625 * xp.log(1.0 - sigmoid(xp, x))), [40.0, -800.0, 2.0]),
        case("in float32", bce_rising, [-50.0, 60.0, 90.0, -30.0], [1.0, 0.0, 0.25, 0.5], dtype="float32", kinds=VG),
        case("dice", dice, [-800.0, -801.0, 40.0], kinds=VG),
        case("KL of Bernoullis", lambda xp, a, b: sigmoid(xp, a) * xp.log(sigmoid(xp, a) / sigmoid(xp, b)) + (1.0 - sigmoid(xp, a)) * xp.log((1.0 - sigmoid(xp, a)) / (1.0 - sigmoid(xp, b))), [40.0, -50.0, 1.0], [-30.0, 60.0, 2.0], wrt=1, kinds=VG),
        case("entropy of a Bernoulli", lambda xp, x: -sigmoid(xp, x) * xp.log(sigmoid(xp, x)) - (1.0 - sigmoid(xp, x)) * xp.log(1.0 - sigmoid(xp, x)), [40.0, -50.0, 1.0], kinds=VG),
        case("logistic regression", lambda xp, w: xp.mean(xp.log(1.0 + xp.exp(-np.array([1.0, -1.0, 1.0]) * xp.matmul(np.array([[100.0, 5.0], [-300.0, 64.0], [2.0, 900.0]]), w)))), [-8.0, 3.0], kinds=VG),
    ),
    *family(
        "softplus",
        case("softplus, large", softplus, [800.0, -0.5, 3.0]),
        case("softplus far left", softplus, [-40.0, -100.0]),
        case("softplus in two branches", stable_softplus, [800.0, -40.0, 3.0], control=True, kinds=VG),
        case("softplus with sharpness", lambda xp, x, b: xp.log(1.0 + xp.exp(b * x)) / b, [800.0, -0.5, 3.0], 2.0),
        case("softplus, to the sharpness", lambda xp, x, b: xp.log(1.0 + xp.exp(b * x)) / b, [100.0, -0.5, 3.0], 8.0, wrt=1),
        case("mish", lambda xp, x: x * xp.tanh(xp.log(1.0 + xp.exp(x))), [800.0, -40.0, 3.0]),
        case("softplus in float32", softplus, [100.0, -20.0, 3.0], dtype="float32"),
        case("difference of softplus", lambda xp, x: softplus(xp, x) - softplus(xp, -x), [800.0, -800.0, 1e-9]),
        case("logarithm of softplus", lambda xp, x: xp.log(xp.log(1.0 + xp.exp(x))), [800.0, -800.0, 1.0]),
        case("softplus squared", lambda xp, x: softplus(xp, x) ** 2, [800.0, -40.0, 1.0]),
        case("elu by where", lambda xp, x: xp.where(x > 0.0, x, xp.exp(x) - 1.0), [800.0, -1e-12, -40.0]),
        case("softplus of a difference", lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)) - b, [800.0, -3.0], [1.0, 900.0]),
    ),
    *family(
        "hyperbolic",
        case("one minus tanh squared, in logs", lambda xp, x: xp.log(1.0 - xp.tanh(x) ** 2), [20.0, -30.0, 400.0, 0.5]),
        case("squashed Gaussian", squashed, [25.0, -0.5, -40.0], [24.0, 0.0, -41.0], [0.0, -1.0, 0.5], kinds=VG),
        case("squashed, with an epsilon", lambda xp, x: xp.log(1.0 - xp.tanh(x) ** 2 + 1e-6), [20.0, -6.0, 0.5], kinds=VG),
        case("with an epsilon, moderate", lambda xp, x: xp.log(1.0 - xp.tanh(x) ** 2 + 1e-6), [0.25, -1.0, 0.5], kinds=VG, control=True),
        case("log cosh by exponentials", lambda xp, x: xp.log((xp.exp(x) + xp.exp(-x)) / 2.0), [800.0, -800.0, 2.0]),
        case("log cosh near 0", lambda xp, x: xp.log(xp.cosh(x)), [1e-6, -3e-5]),
        case("log cosh, large", lambda xp, x: xp.log(xp.cosh(x)), [800.0, -1000.0]),
        case("tanh by exponentials", tanh, [800.0, -800.0, 0.5]),
        case("tanh near 0", tanh, [1e-10, -1e-5]),
        case("one minus tanh", lambda xp, x: 1.0 - xp.tanh(x), [20.0, 15.0], kinds=VG),
        case("one plus tanh", lambda xp, x: 1.0 + xp.tanh(x), [-20.0, -15.0]),
        case("sech", lambda xp, x: 2.0 / (xp.exp(x) + xp.exp(-x)), [720.0, -500.0, 1.0]),
        case("sech squared", lambda xp, x: 1.0 / xp.cosh(x) ** 2, [360.0, -300.0, 1.0]),
        case("one minus tanh squared", lambda xp, x: 1.0 - xp.tanh(x) ** 2, [20.0, -30.0, 0.5]),
        case("sinh by exponentials", lambda xp, x: (xp.exp(x) - xp.exp(-x)) / 2.0, [1e-10, -1e-5, 2.0]),
        case("cosh less one", lambda xp, x: xp.cosh(x) - 1.0, [1e-9, 1e-4]),
        case("sinh less cosh", lambda xp, x: xp.cosh(x) - xp.sinh(x), [30.0, 5.0]),
        case("arctanh by logarithms", lambda xp, x: 0.5 * xp.log((1.0 + x) / (1.0 - x)), [1e-10, -1e-5, 0.5]),
        case("arcsinh by logarithms", lambda xp, x: xp.log(x + xp.sqrt(x**2 + 1.0)), [1e-10, -1e8, 1e200]),
        case("arccosh by logarithms", lambda xp, x: xp.log(x + xp.sqrt(x**2 - 1.0)), [1e200, 2.0]),
        case("Langevin function", lambda xp, x: 1.0 / xp.tanh(x) - 1.0 / x, [1e-4, 1e-2, 3.0]),
        case("x over tanh", lambda xp, x: x / xp.tanh(x), [1e-8, 1e-3, 800.0]),
        case("sinh over x", lambda xp, x: xp.sinh(x) / x, [1e-8, 1e-3, 2.0]),
        case("log sinh", lambda xp, x: xp.log(xp.sinh(x)), [800.0, 1e-9, 1.0]),
        case("ratio of sinhs", lambda xp, x, y: xp.sinh(x) / xp.sinh(y), [800.0, 3.0], [801.0, 3.5]),
        case("log tanh", lambda xp, x: xp.log(xp.tanh(x)), [20.0, 1e-9, 1.0]),
        case("GELU by tanh", gelu, [-6.0, -4.0, 0.5], kinds=VG),
    ),
    *family(
        "contrast",
        case("noise contrast", contrast, 0.75, [0.7509765625, 0.25, 0.748046875], 2.0**-10, wrt=1),
        case("noise contrast, to the temperature", contrast, 0.75, [0.7509765625, 0.25, 0.748046875], 2.0**-10, wrt=2),
        case("normalised temperature", nt_xent, [[30.0, 1.0], [29.0, 2.0], [-3.0, 25.0], [1.0, 24.0]], 0.5, kinds=VG),
        case("triplet by softplus", lambda xp, p, n: xp.sum(xp.log(1.0 + xp.exp(p - n))), [800.0, 1.0, 3.0], [1.0, 50.0, 2.5]),
        case("N pairs", lambda xp, s: xp.log(1.0 + xp.sum(xp.exp(s[1:] - s[0]))), [1.0, 900.0, 901.0, 2.0]),
        case("multi-similarity", lambda xp, s: 0.5 * xp.log(1.0 + xp.sum(xp.exp(-2.0 * (s - 0.5)))), [-500.0, -501.0, 1.0]),
        case("hinge", lambda xp, x: xp.sum(xp.maximum(0.0, 1.0 - x)), [0.5, 2.0, -1e200], kinds=VG, control=True),
        case("Huber", huber, [1e200, -0.5, 1e-200], kinds=VG),
        case("pseudo-Huber", lambda xp, r: xp.sqrt(1.0 + r**2) - 1.0, [1e-9, 1e-4, 3.0]),
        case("pseudo-Huber, huge", lambda xp, r: xp.sqrt(1.0 + r**2) - 1.0, [1e200, -3e180], kinds=VG),
        case("Cauchy loss", lambda xp, r: xp.log(1.0 + r**2), [1e-10, 1e-5, 2.0]),
        case("Cauchy loss, huge", lambda xp, r: xp.log(1.0 + r**2), [1e200, -3e180], kinds=VG),
        case("Welsch loss", lambda xp, r: 1.0 - xp.exp(-0.5 * r**2), [1e-9, 1e-4, 2.0]),
        case("log cosh loss", lambda xp, a, b: xp.mean(xp.log(xp.cosh(a - b))), [1000.0, 1.0, 3.0], [1.0, 1.0 - 2.0**-30, 2.0], kinds=VG),
        case("Poisson loss", lambda xp, e: xp.sum(np.array([1.0, 3.0, 0.0]) * xp.log(xp.exp(e)) - xp.exp(e)), [-800.0, 2.0, -1.0]),
        case("Geman-McClure", lambda xp, r: r**2 / (1.0 + r**2), [1e200, 1e-3, 2.0], kinds=VG),
    ),
)
