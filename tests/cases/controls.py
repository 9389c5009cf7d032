"""Programs that are accurate as they are written, at inputs where a careless rewrite of them is not."""

from __future__ import annotations

import numpy as np

from cases.case import Case, case, family

VG = ("value", "gradient")
HUGE, TINY = [3e200, -1e200, 2e200], [3e-200, -1e-200, 2e-200]
X, Y = [3e200, 2.0], [2e200, 3.0]

CASES: tuple[Case, ...] = tuple(
    found._replace(control=True)
    for found in family(
        "accurate already",
        case("squares of huge quotients", lambda xp, x, s: (x / s) ** 2, X, Y),
        case("sum of squares of quotients", lambda xp, x, s: xp.sum((x / s) ** 2), HUGE, 1e200),
        case(
            "Gaussian of huge scale",
            lambda xp, x, m, s: xp.log(xp.sum(xp.exp(-0.5 * ((x - m) / s) ** 2))),
            3e200,
            [1e200, 2e200],
            [1e200, 2e200],
        ),
        case(
            "Gaussian of tiny scale",
            lambda xp, x, m, s: xp.exp(-0.5 * ((x - m) / s) ** 2),
            [4e-200, 1.5e-200],
            2e-200,
            1e-200,
        ),
        case("Cauchy of huge scale", lambda xp, x, s: 1.0 / (1.0 + (x / s) ** 2), X, Y),
        case("norm of quotients", lambda xp, x, s: xp.sqrt(xp.sum((x / s) ** 2)), HUGE, 1e200, kinds=VG),
        case(
            "product and quotient",
            lambda xp, x, y, z: x * (y / z),
            [3e200, 2.0],
            [4e200, 3.0],
            [5e200, 7.0],
            kinds=VG,
        ),
        case(
            "quotient and product",
            lambda xp, x, y, z: x / y * z,
            [3e200, 2.0],
            [4e200, 3.0],
            [5e200, 7.0],
            kinds=VG,
        ),
        case(
            "quotient of quotients",
            lambda xp, a, b, c, d: (a / b) / (c / d),
            [3e200],
            [2e200],
            [5e200],
            [4e200],
            kinds=VG,
        ),
        case(
            "quotient twice",
            lambda xp, a, b, c: a / b / c,
            [3e200, 1.0],
            [2e200, 3.0],
            [5e200, 7.0],
            kinds=VG,
        ),
        case("product of roots", lambda xp, x, y: xp.sqrt(x) * xp.sqrt(y), X, Y, kinds=VG),
        case("quotient of roots", lambda xp, x, y: xp.sqrt(x) / xp.sqrt(y), X, Y, kinds=VG),
        case("sum of logarithms", lambda xp, x: xp.sum(xp.log(x)), [3e200, 2e200, 1e200], kinds=VG),
        case(
            "difference of far logarithms",
            lambda xp, x, y: xp.log(x) - xp.log(y),
            [3e200, 1e-200],
            [2e-200, 1e200],
            kinds=VG,
        ),
        case(
            "exponential of a difference", lambda xp, x, y: xp.exp(x - y), [1000.0, -800.0], [999.0, -805.0]
        ),
        case("half before the square", lambda xp, x: (0.5e-100 * x) ** 2, [3e200, 2e180], kinds=VG),
        case("mean of huge numbers", lambda xp, x: xp.sum(x / 3.0), [1.5e308, -1e308, 1e308], kinds=VG),
        case("centred and scaled", lambda xp, x: (x - xp.mean(x)) / 1e200, HUGE, kinds=VG),
        case(
            "interpolation",
            lambda xp, a, b, t: (1.0 - t) * a + t * b,
            [3e200, 1.0],
            [2e200, 5.0],
            [0.25, 0.5],
            kinds=VG,
            wrt=2,
        ),
        case("squares of tiny numbers, scaled", lambda xp, x: xp.sum((x * 1e200) ** 2), TINY, kinds=VG),
        case("power and its root", lambda xp, x: xp.sqrt(x) ** 3, [1e150, 4.0], kinds=VG),
        case("ratio of powers", lambda xp, x, y: (x / y) ** 5, X, Y, kinds=VG),
        case("tanh of a quotient", lambda xp, x, s: xp.tanh(x / s), X, Y),
        case(
            "sigmoid of a difference",
            lambda xp, x, y: 1.0 / (1.0 + xp.exp(y - x)),
            [1000.0, 2.0],
            [1001.0, 3.0],
        ),
        case(
            "softmax of differences",
            lambda xp, x: xp.exp(x - 1000.0) / xp.sum(xp.exp(x - 1000.0)),
            [1000.0, 1001.0, 999.0],
        ),
        case("hyperbola", lambda xp, x, y: 1.0 / x + 1.0 / y, X, Y, kinds=VG),
        case(
            "weighted mean of huge numbers",
            lambda xp, w, x: xp.sum(w * x) / xp.sum(w),
            [1.0, 2.0, 0.5],
            HUGE,
            kinds=VG,
            wrt=1,
        ),
        case(
            "matrix of quotients",
            lambda xp, x, y: xp.matmul(x / 1e200, y),
            [HUGE, HUGE],
            [[1.0], [2.0], [0.5]],
            kinds=VG,
        ),
        case("difference that must stay", lambda xp, x: (x + 1.0) - x, [1e3, 3.0], kinds=("value",)),
        case("clipped logarithm", lambda xp, p: xp.log(xp.maximum(p, 1e-12)), [1e-30, 0.5], kinds=VG),
        case("logarithm with an epsilon", lambda xp, p: xp.log(p + 1e-8), [0.0, 1e-9, 0.5], kinds=VG),
        case("quotient with an epsilon", lambda xp, x: x / (xp.sum(x) + 1e-8), [1e-9, 0.0, 3e-9], kinds=VG),
        case(
            "rectifier of a product",
            lambda xp, x, y: xp.maximum(x * y, 0.0),
            [1e150, -2.0],
            [1e150, 3.0],
            kinds=VG,
        ),
        case(
            "polynomial by Horner",
            lambda xp, x: ((x - 6.0) * x + 11.0) * x - 5.0,
            [0.5, 2.5, 1e100],
            kinds=VG,
        ),
        case("polynomial in powers", lambda xp, x: x**3 + 2.0 * x**2 + x + 1.0, [0.5, 2.5, 1e100], kinds=VG),
        case(
            "scalar product with itself",
            lambda xp, x: xp.dot(x, x) / 14.0,
            np.array([1.0, 2.0, 3.0]) * 1e150,
            kinds=VG,
        ),
    )
)
