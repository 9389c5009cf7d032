"""Classifiers, losses, rankings and recursions, as they are written in many ways."""

from __future__ import annotations

import numpy as np

from cases.case import case, family
from cases.pieces import row, sigmoid, softmax

VG = ("value", "gradient")


def log_softmax(xp, x):
    return xp.log(softmax(xp, x))


CASES = (
    *family(
        "softmax formulas",
        case("neg temperature", lambda xp, x, b: softmax(xp, -b * x), [1.0, 2.0, 3.5], 1000.0, wrt=1),
        case(
            "axis0 T",
            lambda xp, x: (xp.exp(x).T / xp.sum(xp.exp(x), axis=0)[:, None]).T,
            [[900.0, -1000.0, 3.0], [901.0, -1002.0, 800.0]],
        ),
        case(
            "shift by mean",
            lambda xp, x: xp.exp(x - xp.mean(x)) / xp.sum(xp.exp(x - xp.mean(x))),
            [-3000.0, 2000.0, 2001.0],
        ),
        case("softmin", lambda xp, d: xp.exp(-d) / xp.sum(xp.exp(-d)), [900.0, 901.0, 899.5]),
        case(
            "batch3d",
            lambda xp, x: xp.exp(x) / xp.sum(xp.exp(x), axis=(1, 2), keepdims=True),
            [[[800.0, 801.0], [799.0, 802.0]], [[-800.0, -801.0], [-799.0, -802.0]]],
            kinds=VG,
        ),
        case("odds", lambda xp, x: softmax(xp, x)[0] / (1.0 - softmax(xp, x)[0]), [60.0, 1.0, 0.5], kinds=VG),
        case("mean instead", lambda xp, x: xp.exp(x) / xp.mean(xp.exp(x)), [800.0, 801.0, 799.5]),
        case("entmax top2", lambda xp, x: softmax(xp, x)[0] + softmax(xp, x)[1], [900.0, 899.0, 905.0]),
        case("prob loss", lambda xp, x: 1.0 - softmax(xp, x)[1], [1.0, 60.0, 3.0]),
    ),
    *family(
        "log softmax formulas",
        case(
            "logdenominator",
            lambda xp, x: x[1] - xp.log(xp.exp(x[0]) + xp.exp(x[1]) + xp.exp(x[2])),
            [900.0, 850.0, 901.0],
        ),
        case(
            "ratio in log",
            lambda xp, x: xp.log(xp.exp(x[0]) / (xp.exp(x[0]) + xp.exp(x[1]) + xp.exp(x[2]))),
            [-900.0, 3.0, 850.0],
        ),
    ),
    *family(
        "cross entropy formulas",
        case(
            "temperature scaling",
            lambda xp, x, t: -xp.log(xp.exp(x[1] / t) / xp.sum(xp.exp(x / t))),
            [3.0, 2.5, 1.0],
            2.0**-9,
            wrt=1,
        ),
        case(
            "perplexity",
            lambda xp, x: xp.exp(-xp.mean(log_softmax(xp, x)[np.arange(2), np.array([0, 1])])),
            [[1000.0, 1001.0, 3.0], [-900.0, -901.0, -902.0]],
            kinds=VG,
        ),
        case(
            "generalized q",
            lambda xp, x: (1.0 - softmax(xp, x)[2] ** 0.75) / 0.75,
            [0.0, 1.0, 40.0],
            kinds=VG,
        ),
        case(
            "margin softmax",
            lambda xp, c: (
                -xp.log(
                    xp.exp(64.0 * (c[0] - 0.25))
                    / (xp.exp(64.0 * (c[0] - 0.25)) + xp.exp(64.0 * c[1]) + xp.exp(64.0 * c[2]))
                )
            ),
            [15.0, 12.0, 14.5],
        ),
        case("zloss", lambda xp, x: xp.log(xp.sum(xp.exp(x))) ** 2 * 1e-4, [900.0, 899.0, 3.0]),
        case(
            "confidence penalty",
            lambda xp, x: -xp.log(softmax(xp, x)[0]) + 0.5 * xp.sum(softmax(xp, x) * xp.log(softmax(xp, x))),
            [900.0, 905.0, -3.0],
        ),
    ),
    *family(
        "logsumexp formulas",
        case("log2 exp2", lambda xp, x: xp.log2(xp.sum(2.0**x)), [2000.0, 2000.5, 1999.0]),
        case("cumulative", lambda xp, x: xp.log(xp.cumsum(xp.exp(x))), [800.0, 805.0, -3.0, 806.0], kinds=VG),
        case(
            "gumbel max mean",
            lambda xp, x: (
                xp.log(xp.mean(xp.exp(x), axis=1, keepdims=True)) - xp.mean(x, axis=1, keepdims=True)
            ),
            [[1000.0, 1001.0, 1003.0]],
            kinds=VG,
        ),
        case("jarzynski", lambda xp, w, b: -xp.log(xp.mean(xp.exp(-b * w))) / b, [100.0, 105.0, 98.0], 16.0),
        case("two dim all", lambda xp, x: xp.log(xp.sum(xp.exp(x))), [[1000.0, 990.0], [1001.0, -4.0]]),
        case(
            "mean axis1",
            lambda xp, x: xp.log(xp.mean(xp.exp(x), axis=1)),
            [[1000.0, 1001.0], [-1000.0, -999.0]],
        ),
        case("p powers", lambda xp, x: xp.log(xp.sum(xp.exp(x) ** 3.0)) / 3.0, [900.0, 899.0, 3.0]),
        case(
            "dot weights",
            lambda xp, w, x: xp.log(xp.dot(w, xp.exp(x))),
            [0.5, 0.25, 3.0],
            [900.0, 899.0, 3.0],
        ),
        case("cgf", lambda xp, t, x: xp.log(xp.mean(xp.exp(t * x))), 300.0, [3.0, 2.5, -4.0]),
    ),
    *family(
        "logaddexp formulas",
        case(
            "mismatch scale",
            lambda xp, a, b: xp.log(xp.exp(2.0 * a) + xp.exp(-b)),
            [-500.0, 500.0],
            [1001.0, 8.0],
        ),
        case(
            "neg log sum neg",
            lambda xp, a, b: -xp.log(xp.exp(-a) + xp.exp(-b)),
            [-1000.0, 1000.0, 0.5],
            [-1001.0, 998.0, 0.25],
            wrt=1,
        ),
    ),
    *family(
        "sigmoid formulas",
        case("shifted logit", lambda xp, x: 2.0 / (1.0 + xp.exp(-2.0 * x)) - 1.0, [1e-9, -3e-5, 800.0]),
        case("odds", lambda xp, x: sigmoid(xp, x) / (1 - sigmoid(xp, x)), [50.0, -700.0, 3.0], kinds=VG),
    ),
    *family(
        "log sigmoid formulas",
        case(
            "bradley terry",
            lambda xp, a, b: xp.log(xp.exp(a) / (xp.exp(a) + xp.exp(b))),
            [900.0, -900.0],
            [850.0, 3.0],
        ),
        case("logit sum", lambda xp, x: xp.sum(xp.log(xp.exp(x) / (1 + xp.exp(x)))), [-800.0, 800.0, 3.0]),
    ),
    *family(
        "log 1m sigmoid formulas",
        case("gan", lambda xp, x: xp.mean(xp.log(1.0 - sigmoid(xp, x))), [800.0, -50.0, 40.0]),
    ),
    *family(
        "bce formulas",
        case(
            "weighted",
            lambda xp, x, y: (
                -xp.sum(3.0 * y * xp.log(sigmoid(xp, x)) + (1.0 - y) * xp.log(1.0 - sigmoid(xp, x)))
            ),
            [-800.0, 50.0, 0.5],
            [1.0, 1.0, 0.25],
        ),
        case(
            "class balanced",
            lambda xp, x: -0.25 * xp.log(sigmoid(xp, x)) - 0.75 * xp.log(1.0 - sigmoid(xp, x)),
            [-800.0, 800.0, 50.0],
        ),
        case(
            "tversky",
            lambda xp, x, y: (
                xp.sum(sigmoid(xp, x) * y)
                / (xp.sum(sigmoid(xp, x) * y) + 0.5 * xp.sum(sigmoid(xp, x) * (1 - y)))
            ),
            [-800.0, -801.0, -799.0],
            [1.0, 0.0, 1.0],
            kinds=VG,
        ),
    ),
    *family(
        "softplus formulas",
        case("inverse", lambda xp, y: xp.log(xp.exp(y) - 1.0), [800.0, 1e-10, 3.0]),
        case("squareplus", lambda xp, x: (x + xp.sqrt(x * x + 4.0)) / 2.0, [-1e9, 3.0, -1e4]),
        case("log 1p exp neg", lambda xp, x: -xp.log(1 + xp.exp(-x)), [-800.0, 50.0, 3.0]),
        case("shifted ssp", lambda xp, x: xp.log(0.5 * xp.exp(x) + 0.5), [800.0, -50.0, 1e-9]),
        case(
            "smooth relu pair",
            lambda xp, x: xp.log(1 + xp.exp(x)) - xp.log(1 + xp.exp(-x)),
            [800.0, -800.0, 3.0],
            kinds=VG,
        ),
    ),
    *family(
        "log1mexp formulas",
        case(
            "survival from log",
            lambda xp, lp: xp.log(1.0 - xp.exp(xp.sum(lp))),
            [-1e-13, -3e-13, -1e-14],
            kinds=VG,
        ),
        case("one minus power", lambda xp, p, n: xp.log(1 - p**n), [0.5, 1.0 - 2.0**-40], 60.0, kinds=VG),
    ),
    *family(
        "logdiffexp formulas",
        case(
            "shift",
            lambda xp, a, d: xp.log(xp.exp(a + d) - xp.exp(a)),
            [1000.0, -1000.0],
            [1e-10, 3.0],
            wrt=1,
        ),
        case(
            "cdf interval logistic",
            lambda xp, m: xp.log(sigmoid(xp, 3.0 - m) - sigmoid(xp, 2.0 - m)),
            [60.0, -700.0, 0.5],
        ),
        case(
            "weighted",
            lambda xp, a, b: xp.log(2.0 * xp.exp(a) - xp.exp(b)),
            [900.0, -900.0],
            [900.0, -901.0],
            kinds=VG,
        ),
    ),
    *family(
        "infonce formulas",
        case(
            "ntxent",
            lambda xp, s: (
                -xp.mean(s[np.arange(2), np.arange(2)] * 1024.0 - xp.log(xp.sum(xp.exp(s * 1024.0), axis=1)))
            ),
            [[0.75, 0.5, 0.7509765625], [0.25, 0.875, 0.25]],
        ),
        case(
            "supcon",
            lambda xp, s: -xp.log(xp.sum(xp.exp(s[:2])) / xp.sum(xp.exp(s))),
            [1000.0, 900.0, 1001.0],
        ),
    ),
    *family(
        "focal formulas",
        case(
            "multiclass",
            lambda xp, x: -((1.0 - softmax(xp, x)[0]) ** 2.0) * xp.log(softmax(xp, x)[0]),
            [50.0, 0.0, 1.0],
            kinds=VG,
        ),
    ),
    *family(
        "ratio loss formulas",
        case(
            "exp ratio",
            lambda xp, x: xp.sum(xp.exp(x) * row(1.0, 0.0, 1.0)) / xp.sum(xp.exp(x) * row(1.0, 1.0, 0.5)),
            [-800.0, -803.0, -801.0],
        ),
    ),
    *family(
        "rank formulas",
        case(
            "plackett luce",
            lambda xp, s: xp.log(xp.exp(s[0]) / xp.sum(xp.exp(s)) * xp.exp(s[1]) / xp.sum(xp.exp(s[1:]))),
            [900.0, 905.0, 3.0],
        ),
    ),
    *family(
        "vae formulas",
        case(
            "elbo",
            lambda xp, m, lv: 0.5 * xp.sum(xp.exp(lv) + m**2 - 1.0 - lv) + xp.log(1.0 + xp.exp(900.0 * m[0])),
            [2.0, -1.0],
            [1e-6, 2e-7],
            kinds=VG,
        ),
        case("softplus flow", lambda xp, x: xp.log(xp.exp(x) / (1.0 + xp.exp(x))), [-800.0, 50.0]),
    ),
    *family(
        "rl formulas",
        case(
            "ppo ratio",
            lambda xp, x, old: xp.exp(xp.log(softmax(xp, x)[0]) - old),
            [1000.0, 1001.0, 3.0],
            -1.25,
        ),
        case(
            "exp weights",
            lambda xp, a, t: xp.sum(xp.exp(a / t) * a) / xp.sum(xp.exp(a / t)),
            [10.0, 10.125, 9.0],
            2.0**-7,
            wrt=1,
        ),
    ),
)
