"""Softmax, its logarithm, cross entropies, attention, weighted means."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG, V, G = ("value", "gradient"), ("value",), ("gradient",)
GH = ("gradient", "product")
BIG, FAR, ISSUE = [1000.0, 1001.0, 1002.5], [0.0, -800.0, 100.0, 101.0], [1e-18, 1e18, -1e18]
ROWS = [[-10000.0, -10000.0, -10001.0], [800.0, 802.0, 801.5]]
BATCH = np.array(
    [[[900.0, 901.0], [3.0, -2.0], [0.5, 1000.0]], [[-900.0, -901.0], [700.0, 710.0], [800.0, 1.0]]]
)
LOGITS = [[-781.1664, -1043.7303, 890.2518, -1234.9999, -1622.5167]]
SATURATED = [[-431.0, 279.0, 427.0], [-1047.0, -981.0, 1891.0]]
HIT, SMOOTH = np.array([[0.0, 1.0, 0.0, 0.0, 0.0]]), np.array([0.05, 0.9, 0.05])
Q = np.array([[32.0, -16.0, 8.0, 64.0], [-48.0, 8.0, 16.0, 24.0]])
K = np.array([[16.0, 32.0, -8.0, 24.0], [8.0, -16.0, 4.0, 32.0], [24.0, 8.0, 16.0, 31.5]])
U = np.array([[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]])
SEEN = np.array([[True, True, False], [True, False, True]])
BLOCKED = np.array([[0.0, 0.0, -1e9], [0.0, -1e9, 0.0]])
CAUSAL = np.array([[True, False, False], [True, True, False], [True, True, True]])


def softmax(xp, x):
    return xp.exp(x) / xp.sum(xp.exp(x))


def rows(xp, x):
    e = xp.exp(x)
    return e / xp.sum(e, axis=-1, keepdims=True)


def columns(xp, x):
    return xp.exp(x) / xp.sum(xp.exp(x), axis=0)


def log_rows(xp, x):
    return x - xp.log(xp.sum(xp.exp(x), axis=1, keepdims=True))


def hard(xp, x):
    return -xp.sum(HIT * xp.log(rows(xp, x)))


def indexed(xp, x):
    return -xp.mean(xp.log(rows(xp, x)[np.arange(2), np.array([0, 0])]))


def smoothed(xp, x):
    return -xp.sum(SMOOTH * xp.log(softmax(xp, x)))


def masked_attention(xp, q, k, v):
    scores = xp.where(SEEN, xp.matmul(q, xp.transpose(k)) / 2.0, -np.inf)
    return xp.matmul(rows(xp, scores), v)


def blocked_attention(xp, q, k, v):
    return xp.matmul(rows(xp, xp.matmul(q, xp.transpose(k)) / 2.0 + BLOCKED), v)


def causal_attention(xp, q, k, v):
    scores = xp.where(CAUSAL, xp.matmul(q, xp.transpose(k)), -1e30)
    return xp.matmul(rows(xp, scores), v)


def batched_attention(xp, q, k):
    return rows(xp, xp.matmul(q, k))


def multiplied_mask(xp, x):
    e = xp.exp(x) * np.array([1.0, 1.0, 0.0, 1.0])
    return e / xp.sum(e)


def importance(xp, logw, f):
    w = xp.exp(logw)
    return xp.sum(w * f) / xp.sum(w)


def normalised_first(xp, logw, f):
    w = xp.exp(logw)
    w = w / xp.sum(w)
    return xp.sum(w * f)


def importance_variance(xp, logw, f):
    w = xp.exp(logw) / xp.sum(xp.exp(logw))
    m = xp.sum(w * f)
    return xp.sum(w * (f - m) ** 2)


def soft_argmax(xp, x):
    return xp.sum(np.arange(4.0) * xp.exp(x)) / xp.sum(xp.exp(x))


def perplexity(xp, x):
    return xp.exp(-xp.log(softmax(xp, x)[1]))


CASES = (
    *family(
        "softmax",
        case("softmax far apart", lambda xp, x: rows(xp, x), ISSUE, kinds=V),
        case("sum of softmax far apart", lambda xp, x: xp.sum(rows(xp, x)), ISSUE, kinds=GH, scale=1.0),
        case("large logits", softmax, BIG, weights=[1.0, -2.0, 0.5]),
        case("rows of softmax", rows, ROWS),
        case("temperature", lambda xp, x, t: softmax(xp, x / t), [8.0, 7.984375, 7.96875], 0.0078125, wrt=1),
        case("small logits", softmax, [0.5, -1.25, 2.0], control=True),
        case("columns of softmax", columns, ROWS),
        case("batched softmax", rows, BATCH),
        case(
            "softmax over the middle axis",
            lambda xp, x: xp.exp(x) / xp.sum(xp.exp(x), axis=1, keepdims=True),
            BATCH,
        ),
        case(
            "softmax over two axes",
            lambda xp, x: xp.exp(x) / xp.sum(xp.exp(x), axis=(1, 2), keepdims=True),
            BATCH,
        ),
        case("softmax in float32", softmax, [100.0, 101.0, 102.5], dtype="float32"),
        case("rows in float32", rows, [[-200.0, -200.0, -201.0], [90.0, 92.0, 91.5]], dtype="float32"),
        case("inverse temperature", lambda xp, x, b: rows(xp, b * x), BIG, 2.0, wrt=1),
        case("base 2", lambda xp, x: 2.0**x / xp.sum(2.0**x), [1100.0, 1101.0, 1102.5]),
        case("softmin", lambda xp, x: xp.exp(-x) / xp.sum(xp.exp(-x)), BIG),
        case(
            "weighted softmax", lambda xp, x, w: w * xp.exp(x) / xp.sum(w * xp.exp(x)), BIG, [0.5, 2.0, 0.25]
        ),
        case(
            "weighted, to the weights",
            lambda xp, x, w: w * xp.exp(x) / xp.sum(w * xp.exp(x)),
            BIG,
            [0.5, 2.0, 0.25],
            wrt=1,
        ),
        case("masked by a product", multiplied_mask, [1000.0, 1001.0, 5000.0, 999.0]),
        case("one minus a probability", lambda xp, x: 1.0 - softmax(xp, x)[2], [0.0, 1.0, 50.0]),
        case(
            "product of probabilities",
            lambda xp, x: softmax(xp, x) * (1.0 - softmax(xp, x)),
            [0.0, 1.0, 50.0],
        ),
        case(
            "odds of softmax", lambda xp, x: softmax(xp, x)[0] / softmax(xp, x)[1], [1000.0, 1001.0, 1100.0]
        ),
        case("softmax by a difference", lambda xp, x: xp.exp(x - xp.log(xp.sum(xp.exp(x)))), BIG),
        case("softmax by a matrix", lambda xp, x: xp.matmul(rows(xp, x), U), ROWS),
        case("one and softmax", lambda xp, x: xp.exp(x) / (1.0 + xp.sum(xp.exp(x))), [900.0, 901.0, 3.0]),
        case("softmax shifted by its maximum", lambda xp, x: rows(xp, x - xp.max(x)), BIG, control=True),
        case("root of softmax", lambda xp, x: xp.sqrt(softmax(xp, x)), BIG),
        case("softmax of a scaled sum", lambda xp, x: rows(xp, 3.0 * x + x), [250.0, 251.0, 252.5]),
    ),
    *family(
        "log-softmax",
        case("logarithm of softmax far apart", lambda xp, x: xp.log(rows(xp, x))[0], ISSUE, scale=1.0),
        case("logarithm of softmax", lambda xp, x: xp.log(softmax(xp, x)), FAR, weights=[0.0, 1.0, 0.0, 0.0]),
        case("logits less logsumexp", log_rows, [[1.0, 2.0, 3.0], [1000.0, 2000.0, 3000.0]]),
        case("batched log-softmax", lambda xp, x: xp.log(rows(xp, x)), BATCH),
        case("difference of logarithms", lambda xp, x: xp.log(xp.exp(x)) - xp.log(xp.sum(xp.exp(x))), BIG),
        case(
            "logarithm with temperature",
            lambda xp, x, t: xp.log(softmax(xp, x / t)),
            [8.0, 7.5, 7.25],
            0.0078125,
            wrt=1,
        ),
        case(
            "logarithm in float32",
            lambda xp, x: xp.log(softmax(xp, x)),
            [0.0, -100.0, 100.0],
            dtype="float32",
        ),
        case("confident log-softmax", lambda xp, x: xp.log(softmax(xp, x)), [0.0, 1.0, 50.0]),
        case("log of one minus softmax", lambda xp, x: xp.log(1.0 - softmax(xp, x)[2]), [0.0, 1.0, 50.0]),
        case(
            "log-odds of softmax",
            lambda xp, x: xp.log(softmax(xp, x)[2] / (1.0 - softmax(xp, x)[2])),
            [0.0, 1.0, 50.0],
        ),
        case("log2 of softmax", lambda xp, x: xp.log2(softmax(xp, x)), BIG),
        case("perplexity", perplexity, [1000.0, 1001.0, 1002.5]),
    ),
    *family(
        "cross entropy",
        case("one-hot labels", hard, LOGITS, scale=1.0),
        case("indexed labels", indexed, SATURATED, scale=1.0),
        case("confident and right", lambda xp, x: -xp.log(softmax(xp, x)[2]), [0.0, 1.0, 30.0], kinds=VG),
        case("label smoothing", smoothed, BIG),
        case("label smoothing, confident", smoothed, [0.0, 50.0, 1.0]),
        case("sum before the logarithm", lambda xp, x: -xp.log(xp.sum(HIT * rows(xp, x))), LOGITS, scale=1.0),
        case(
            "class weights",
            lambda xp, x: -xp.sum(np.array([2.0, 0.0, 3.0]) * xp.log(softmax(xp, x))) / 5.0,
            BIG,
        ),
        case(
            "Brier score",
            lambda xp, x: xp.sum((softmax(xp, x) - np.array([0.0, 0.0, 1.0])) ** 2),
            [0.0, 1.0, 40.0],
        ),
        case(
            "focal on softmax",
            lambda xp, x: -((1.0 - softmax(xp, x)[2]) ** 2) * xp.log(softmax(xp, x)[2]),
            [0.0, 1.0, 30.0],
        ),
        case("logsumexp less the logit", lambda xp, x: xp.log(xp.sum(xp.exp(x))) - x[2], [0.0, 1.0, 40.0]),
        case(
            "margin softmax",
            lambda xp, x: -xp.log(softmax(xp, 64.0 * x - np.array([0.0, 22.0, 0.0]))[1]),
            [0.5, 32.0, 31.0],
        ),
    ),
    *family(
        "attention",
        case("attention masked with infinity", masked_attention, Q, K, U, kinds=VG),
        case("attention masked by a sum", blocked_attention, 0.25 * Q, 4.5 * K, U, kinds=VG, wrt=1),
        case("attention, to the values", masked_attention, Q, K, U, wrt=2, scale=1.0),
        case("causal attention", causal_attention, K, K / 4.0, U, kinds=VG),
        case("batched scores", batched_attention, [Q, -Q], [K.T, K.T / 8.0], kinds=VG),
        case("attention in float32", masked_attention, Q, K / 8.0, U, kinds=VG, dtype="float32"),
    ),
    *family(
        "weighted mean",
        case("importance sampling", importance, [-1000.0, -1001.0, -1003.0], [1.0, 4.0, -2.0]),
        case("weights normalised first", normalised_first, [-1000.0, -1001.0, -1003.0], [1.0, 4.0, -2.0]),
        case(
            "importance sampling, to the values",
            importance,
            [1000.0, 1001.0, 1003.0],
            [1.0, 4.0, -2.0],
            wrt=1,
            scale=1.0,
        ),
        case("weighted variance", importance_variance, [-1000.0, -1001.0, -1003.0], [1.0, 4.0, -2.0]),
        case("soft argmax", soft_argmax, [800.0, 805.0, 801.0, 750.0]),
        case(
            "dot of weights", lambda xp, x, f: xp.dot(xp.exp(x), f) / xp.sum(xp.exp(x)), BIG, [1.0, 4.0, -2.0]
        ),
        case("effective sample size", lambda xp, x: xp.sum(xp.exp(x)) ** 2 / xp.sum(xp.exp(x) ** 2), BIG),
        case(
            "Boltzmann mean",
            lambda xp, e, t: xp.sum(e * xp.exp(-e / t)) / xp.sum(xp.exp(-e / t)),
            [1000.0, 1001.0, 1004.0],
            1.0,
            wrt=1,
        ),
        case("smooth maximum", lambda xp, x: xp.sum(x * xp.exp(x)) / xp.sum(xp.exp(x)), BIG),
        case(
            "soft precision",
            lambda xp, x: (
                xp.sum(np.array([1.0, 0.0, 1.0]) / (1.0 + xp.exp(-x))) / xp.sum(1.0 / (1.0 + xp.exp(-x)))
            ),
            [-800.0, -801.0, -803.0],
            kinds=VG,
        ),
    ),
)
