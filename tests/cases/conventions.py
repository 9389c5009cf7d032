"""Points without a derivative, removable singularities, branches not taken."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
V = ("value",)
G = ("gradient",)
GH = ("gradient", "product")


def norm(xp, x):
    return xp.sqrt(xp.sum(x**2))


def guarded_norms(xp, x):
    r = xp.sqrt(xp.sum(x**2, axis=1))
    return xp.sum(xp.where(r > 0.5, r, xp.ones_like(r)))


CASES = (
    *family(
        "conventions",
        case(
            "root in the branch taken",
            lambda xp, x: xp.where(x < 1.0, x, xp.sqrt(x)),
            [0.0, 4.0, -1.0],
            kinds=GH,
        ),
        case(
            "logarithm in the other branch",
            lambda xp, x: xp.where(x > 0.0, xp.log(x), x),
            [-1.0, -0.5, 2.0],
            kinds=VG,
        ),
        case("norms under where", guarded_norms, [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], kinds=VG),
        case(
            "quotient under where",
            lambda xp, x, y: xp.where(y > 0.0, x / y, 0.0),
            [1.0, 2.0, 3.0],
            [0.0, 4.0, 0.0],
            kinds=VG,
        ),
        case(
            "root of a square at 0",
            lambda xp, x: xp.sqrt(x**2),
            [0.0, -3.0, 2.0],
            kinds=G,
            weights=[1.0, 1.0, 1.0],
            expected={"gradient": [0.0, -1.0, 1.0]},
        ),
        case("norm at 0", norm, [0.0, 0.0, 0.0], kinds=G, expected={"gradient": [0.0, 0.0, 0.0]}),
        case("norm squared at 0", lambda xp, x: xp.sqrt(xp.sum(x**2)) ** 2, [0.0, 0.0], kinds=GH),
        case(
            "entropy with a zero",
            lambda xp, p: -xp.sum(p * xp.log(p)),
            [0.0, 0.5, 0.5],
            kinds=V,
            expected={"value": "0.693147180559945309417232121458"},
        ),
        case(
            "x log x under where",
            lambda xp, p: xp.sum(xp.where(p > 0.0, p * xp.log(p), 0.0)),
            [0.0, 0.25, 0.75],
            kinds=G,
            expected={
                "gradient": ["0", "-0.386294361119890618834464242916", "0.712317927548219072394328720203"]
            },
        ),
        case(
            "exp less one over x at 0",
            lambda xp, x: (xp.exp(x) - 1.0) / x,
            [0.0, 1.0],
            expected={
                "value": [1.0, "1.71828182845904523536028747135"],
                "gradient": [0.5, -0.5],
                "product": ["0.333333333333333333333333333333", "0.17957042711488190066"],
            },
            weights=[1.0, -0.5],
            kinds=("value",),
        ),
        case(
            "log of one plus over x at 0",
            lambda xp, x: xp.log(1.0 + x) / x,
            [0.0],
            expected={"value": [1.0], "gradient": [-0.5], "product": ["0.666666666666666666666666666667"]},
        ),
        case(
            "one minus cosine over the square at 0",
            lambda xp, x: (1.0 - xp.cos(x)) / x**2,
            [0.0],
            expected={"value": [0.5], "gradient": [0.0], "product": ["-0.0833333333333333333333333333333"]},
            scale=1.0,
        ),
        case(
            "tanh over x at 0",
            lambda xp, x: xp.tanh(x) / x,
            [0.0],
            expected={"value": [1.0], "gradient": [0.0], "product": ["-0.666666666666666666666666666667"]},
            scale=1.0,
        ),
        case(
            "Bernoulli function at 0",
            lambda xp, x: x / (xp.exp(x) - 1.0),
            [0.0],
            expected={"value": [1.0], "gradient": [-0.5], "product": ["0.166666666666666666666666666667"]},
        ),
        case(
            "divergence with a zero",
            lambda xp, p: xp.sum(p * xp.log(p / np.array([0.25, 0.25, 0.5]))),
            [0.0, 0.5, 0.5],
            kinds=V,
            expected={"value": "0.346573590279972654708616060729"},
        ),
        case(
            "absolute value at 0",
            lambda xp, x: xp.abs(x),
            [0.0, -2.0, 3.0],
            kinds=G,
            weights=[1.0, 1.0, 1.0],
            expected={"gradient": [0.0, -1.0, 1.0]},
        ),
        case(
            "hypotenuse at 0",
            lambda xp, x, y: xp.sqrt(x**2 + y**2),
            [0.0, 3.0],
            [0.0, 4.0],
            kinds=G,
            weights=[1.0, 1.0],
            expected={"gradient": [0.0, 0.6]},
        ),
        case(
            "distance of a point to itself",
            lambda xp, x, y: xp.sqrt(xp.sum((x - y) ** 2, axis=1)),
            [[1.0, 2.0], [3.0, 4.0]],
            [[1.0, 2.0], [0.0, 0.0]],
            kinds=G,
            weights=[1.0, 1.0],
            expected={"gradient": [[0.0, 0.0], [0.6, 0.8]]},
        ),
        case(
            "sine over x under where",
            lambda xp, x: xp.where(x == 0.0, 1.0, xp.sin(x) / x),
            [0.0, 1e-4, 2.0],
            kinds=VG,
            scale=1.0,
        ),
        case("power of a zero", lambda xp, x: x**2.0, [0.0, -3.0]),
    ),
)
