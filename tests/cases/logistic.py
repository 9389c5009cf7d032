"""Sigmoids and softplus."""

from __future__ import annotations

from cases.case import case, family
from cases.pieces import sigmoid

VG = ("value", "gradient")
SPREAD = [-800.0, -50.0, 0.5, 40.0]


def rising(xp, x):
    return xp.exp(x) / (1.0 + xp.exp(x))


def softplus(xp, x):
    return xp.log(1.0 + xp.exp(x))


def stable_softplus(xp, x):
    return xp.maximum(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))


CASES = (
    *family(
        "sigmoid",
        case("sigmoid", sigmoid, SPREAD),
        case("sigmoid far left", sigmoid, [-600.0, -500.0]),
        case("sigmoid of exp(x)", rising, [800.0, -3.0, 40.0]),
        case("sigmoid in float32", sigmoid, [-90.0, -20.0, 0.5, 20.0], dtype="float32"),
        case("complement of sigmoid", lambda xp, x: 1.0 - sigmoid(xp, x), [40.0, 700.0, -2.0]),
        case("slope of sigmoid", lambda xp, x: sigmoid(xp, x) * (1.0 - sigmoid(xp, x)), [40.0, -600.0, 0.5]),
        case(
            "slope by exponentials", lambda xp, x: xp.exp(-x) / (1.0 + xp.exp(-x)) ** 2, [40.0, -600.0, 0.5]
        ),
        case("swish", lambda xp, x: x / (1.0 + xp.exp(-x)), [-800.0, -40.0, 0.5, 800.0]),
        case(
            "two-class softmax",
            lambda xp, a, b: xp.exp(a) / (xp.exp(a) + xp.exp(b)),
            [1000.0, -1000.0, 3.0],
            [1001.0, -1002.0, -40.0],
        ),
        case(
            "difference of sigmoids",
            lambda xp, a, b: sigmoid(xp, a) - sigmoid(xp, b),
            [40.0, 1.0],
            [39.0, 1.0 - 2.0**-30],
        ),
        case("sigmoid less a half", lambda xp, x: sigmoid(xp, x) - 0.5, [1e-10, -3e-9, 1.0]),
        case("bipolar sigmoid", lambda xp, x: 2.0 * sigmoid(xp, x) - 1.0, [1e-10, -3e-9, 800.0]),
        case(
            "bipolar by exponentials",
            lambda xp, x: (1.0 - xp.exp(-x)) / (1.0 + xp.exp(-x)),
            [1e-10, -800.0, 800.0],
        ),
        case(
            "Fermi function",
            lambda xp, e, m, t: 1.0 / (xp.exp((e - m) / t) + 1.0),
            [3.0, 0.0, 1.25],
            1.0,
            0.00390625,
        ),
        case(
            "Fermi function, to the temperature",
            lambda xp, e, m, t: 1.0 / (xp.exp((e - m) / t) + 1.0),
            [1.5, 0.5, 1.25],
            1.0,
            0.0078125,
            wrt=2,
        ),
        case("square of a sigmoid", lambda xp, x: sigmoid(xp, x) ** 2, [-300.0, 40.0]),
        case(
            "quotient of sigmoids",
            lambda xp, a, b: sigmoid(xp, a) / sigmoid(xp, b),
            [-800.0, -750.0],
            [-801.0, -752.0],
        ),
        case(
            "logistic growth",
            lambda xp, t, k, r: k * xp.exp(r * t) / (k + xp.exp(r * t) - 1.0),
            [900.0, 2.0, 0.5],
            50.0,
            1.0,
            kinds=VG,
        ),
    ),
    *family(
        "log-sigmoid",
        case("log-sigmoid", lambda xp, x: xp.log(sigmoid(xp, x)), [-800.0, -300.0, 0.5]),
        case("log-sigmoid far right", lambda xp, x: xp.log(sigmoid(xp, x)), [40.0, 60.0]),
        case("log of one minus sigmoid", lambda xp, x: xp.log(1.0 - sigmoid(xp, x)), [40.0, 800.0, -1.0]),
        case("log of one minus rising", lambda xp, x: xp.log(1.0 - rising(xp, x)), [40.0, 800.0, -50.0]),
        case("minus log of one and exp", lambda xp, x: -xp.log(1.0 + xp.exp(-x)), [-800.0, 40.0, 0.5]),
        case("log1p of an exponential", lambda xp, x: xp.log1p(xp.exp(x)), [800.0, 3.0, -40.0]),
        case(
            "log-sigmoid in float32",
            lambda xp, x: xp.log(sigmoid(xp, x)),
            [-100.0, 20.0, 0.5],
            dtype="float32",
        ),
        case(
            "logit of sigmoid",
            lambda xp, x: xp.log(sigmoid(xp, x) / (1.0 - sigmoid(xp, x))),
            [40.0, -800.0, 0.5],
        ),
        case(
            "log of sigmoid slope",
            lambda xp, x: xp.log(sigmoid(xp, x) * (1.0 - sigmoid(xp, x))),
            [40.0, -800.0, 0.5],
        ),
        case(
            "log of a softmax pair",
            lambda xp, a, b: xp.log(xp.exp(a) / (xp.exp(a) + xp.exp(b))),
            [1000.0, -1000.0, 40.0],
            [1001.0, -1002.0, -1.0],
        ),
        case(
            "Bradley-Terry",
            lambda xp, r: -xp.log(sigmoid(xp, r[0] - r[1])) - xp.log(sigmoid(xp, r[2] - r[1])),
            [900.0, 50.0, 1.0],
        ),
        case(
            "log of a Fermi function",
            lambda xp, x, t: -t * xp.log(1.0 + xp.exp(-x / t)),
            [-3.0, 2.0],
            0.001953125,
            kinds=VG,
            wrt=1,
        ),
    ),
    *family(
        "softplus",
        case("softplus, large", softplus, [800.0, -0.5, 3.0]),
        case("softplus far left", softplus, [-40.0, -100.0]),
        case("softplus in two branches", stable_softplus, [800.0, -40.0, 3.0], control=True, kinds=VG),
        case(
            "softplus with sharpness",
            lambda xp, x, b: xp.log(1.0 + xp.exp(b * x)) / b,
            [800.0, -0.5, 3.0],
            2.0,
        ),
        case(
            "softplus, to the sharpness",
            lambda xp, x, b: xp.log(1.0 + xp.exp(b * x)) / b,
            [100.0, -0.5, 3.0],
            8.0,
            wrt=1,
        ),
        case("mish", lambda xp, x: x * xp.tanh(xp.log(1.0 + xp.exp(x))), [800.0, -40.0, 3.0]),
        case("softplus in float32", softplus, [100.0, -20.0, 3.0], dtype="float32"),
        case(
            "difference of softplus", lambda xp, x: softplus(xp, x) - softplus(xp, -x), [800.0, -800.0, 1e-9]
        ),
        case("logarithm of softplus", lambda xp, x: xp.log(xp.log(1.0 + xp.exp(x))), [800.0, -800.0, 1.0]),
        case("softplus squared", lambda xp, x: softplus(xp, x) ** 2, [800.0, -40.0, 1.0]),
        case("elu by where", lambda xp, x: xp.where(x > 0.0, x, xp.exp(x) - 1.0), [800.0, -1e-12, -40.0]),
        case(
            "softplus of a difference",
            lambda xp, a, b: xp.log(xp.exp(a) + xp.exp(b)) - b,
            [800.0, -3.0],
            [1.0, 900.0],
        ),
    ),
)
