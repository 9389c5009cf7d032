"""Elementary functions, geometry, physics, chemistry, finance and signals, as formulas are typed in."""

from __future__ import annotations

import numpy as np

from cases.case import case, family

VG = ("value", "gradient")
V = ("value",)


CASES = (
    *family(
        "sac tanh formulas",
        case(
            "two minus form",
            lambda xp, u: 2.0 * (xp.log(2.0) - u - xp.log(1.0 + xp.exp(-2.0 * u))),
            [20.0, -400.0, 0.5],
        ),
        case(
            "scaled action",
            lambda xp, u: -xp.sum(xp.log(2.0 * (1.0 - xp.square(xp.tanh(u))))),
            [20.0, -30.0, 0.5],
        ),
        case(
            "atanh grad",
            lambda xp, y: 0.5 * xp.log((1 + y) / (1 - y)) - xp.log(1 - y**2),
            [1.0 - 2.0**-45, 1e-9],
            kinds=VG,
        ),
        case("ratio", lambda xp, x: (1 + xp.tanh(x)) / (1 - xp.tanh(x)), [30.0, -200.0, 0.5], kinds=VG),
    ),
    *family(
        "logcosh formulas",
        case("scaled", lambda xp, x, a: xp.log(xp.cosh(a * x)) / a, [900.0, 1e-7], 2.0),
        case(
            "fastica",
            lambda xp, w, X: xp.mean(xp.log(xp.cosh(X @ w))),
            [400.0, 300.0],
            [[1.0, 2.0], [3.0, -1.0]],
        ),
        case(
            "difference", lambda xp, x: xp.log(xp.cosh(x + 1.0)) - xp.log(xp.cosh(x)), [800.0, -800.0, 0.25]
        ),
        case("minus abs", lambda xp, x: xp.log(xp.cosh(x)) - xp.abs(x), [800.0, -30.0, 2.0], kinds=VG),
        case(
            "ising mean field",
            lambda xp, m, b: 0.5 * b * m**2 - xp.log(2.0 * xp.cosh(b * m)),
            [500.0, 0.25],
            2.0,
        ),
    ),
    *family(
        "tanh formulas",
        case(
            "expm2x", lambda xp, x: (1.0 - xp.exp(-2.0 * x)) / (1.0 + xp.exp(-2.0 * x)), [-800.0, 1e-9, 400.0]
        ),
        case("fisher z diff", lambda xp, r: xp.log((1.0 + r) / (1.0 - r)), [1.0 - 2.0**-40, 1e-12]),
        case("asinh log", lambda xp, x: xp.log(x + xp.sqrt(x * x + 1.0)), [1e-9, 1e200, -1e6, -3.0]),
        case(
            "neg form", lambda xp, x: (xp.exp(-x) - xp.exp(x)) / (xp.exp(-x) + xp.exp(x)), [800.0, -1e-9, 0.5]
        ),
        case("asinh diff", lambda xp, x: xp.log(x + xp.sqrt(x**2 + 1)), [-1e9, 1e-9, 3.0]),
    ),
    *family(
        "cos cancel formulas",
        case("cos2 sin2", lambda xp, x: 1.0 - xp.cos(x) ** 2, [1e-9, 1e-3]),
        case("angle small", lambda xp, t: xp.sqrt(2.0 - 2.0 * xp.cos(t)), [1e-9, 1.0], kinds=VG),
        case("one cos over x", lambda xp, x: (1.0 - xp.cos(x)) / x, [1e-9, 2e-4, 1.0]),
        case("tan half", lambda xp, x: (1 - xp.cos(x)) / xp.sin(x), [1e-8, 0.5]),
    ),
    *family(
        "sinc formulas",
        case("log sinc", lambda xp, x: xp.log(xp.sin(x) / x), [1e-6, 1e-2]),
        case(
            "rodrigues b",
            lambda xp, w: (1.0 - xp.cos(xp.sqrt(xp.sum(w**2)))) / xp.sum(w**2),
            [1e-5, 2e-5, -1e-5],
            kinds=VG,
        ),
        case(
            "rodrigues a",
            lambda xp, w: xp.sin(xp.sqrt(xp.sum(w**2))) / xp.sqrt(xp.sum(w**2)),
            [1e-5, 2e-5, -1e-5],
            kinds=VG,
        ),
        case("rodrigues c", lambda xp, t: (t - xp.sin(t)) / t**3, [1e-4, 1e-2, 1.0]),
        case("sin ratio", lambda xp, x: xp.sin(3.0 * x) / xp.sin(x), [1e-7, 0.5]),
        case("diffraction", lambda xp, x: (xp.sin(4.0 * x) / (4.0 * xp.sin(x))) ** 2, [1e-6, 0.5], kinds=VG),
        case("bessel j1", lambda xp, x: (xp.sin(x) - x * xp.cos(x)) / x**2, [1e-4, 0.5]),
        case(
            "formfactor", lambda xp, q: 3.0 * (xp.sin(q) - q * xp.cos(q)) / q**3, [1e-3, 0.5, 10.0], kinds=VG
        ),
    ),
    *family(
        "expm1 formulas",
        case("scaled time", lambda xp, t, k: 5.0 * (1.0 - xp.exp(-k * t)) / k, [1e-9, 3.0], 1e-3, wrt=1),
        case(
            "pk bateman",
            lambda xp, t, ka, ke: ka / (ka - ke) * (xp.exp(-ke * t) - xp.exp(-ka * t)),
            [2.0, 0.5],
            1.0 + 2.0**-30,
            1.0,
            kinds=VG,
        ),
        case("bose", lambda xp, x: 1.0 / (xp.exp(x) - 1.0), [1e-9, 800.0, 2.0]),
        case(
            "em1 over ep1",
            lambda xp, x: (xp.exp(x) - 1) / (xp.exp(2.0 * x) - 1),
            [1e-10, 0.5, 800.0],
            kinds=VG,
        ),
        case("etd phi1", lambda xp, h, L: (xp.exp(h * L) - 1) / L, 0.5, [-1e-10, -30.0], wrt=1),
        case("hill small", lambda xp, x, n: x**n / (1.0 + x**n), [1e-100, 1e100], 5.0, kinds=VG),
    ),
    *family(
        "log1p formulas",
        case("log of 1 x2", lambda xp, x: xp.log(1.0 - x**2), [1e-9, 0.5, 1.0 - 2.0**-40]),
        case(
            "shannon capacity",
            lambda xp, b, s, n: b * xp.log2(1.0 + s / n),
            [1e6, 3.0],
            [1e-12, 5.0],
            [1e3, 1e-320 + 1.0],
            wrt=1,
            kinds=VG,
        ),
        case("log ratio", lambda xp, x, d: xp.log((x + d) / x), [3.0, 1e200], [1e-12, 1e180], wrt=1),
        case(
            "log mean", lambda xp, x, y: (x - y) / xp.log(x / y), [3.0, 2.0], [3.0 - 2.0**-35, 5.0], kinds=VG
        ),
        case("drag", lambda xp, t, k: xp.log(1.0 + k * t) / k, [2.0, 0.5], 1e-11, wrt=1),
        case("x log 1 1x", lambda xp, x: x * xp.log(1 + 1 / x), [1e10, 2.0]),
        case("haldane", lambda xp, r: -0.5 * xp.log(1 - 2.0 * r), [1e-12, 0.25]),
    ),
    *family(
        "sqrt diff formulas",
        case("one over", lambda xp, x: 1.0 / (xp.sqrt(x + 1.0) - xp.sqrt(x)), [1e10, 1e15]),
        case("kinetic", lambda xp, p, m: xp.sqrt(p * p + m * m) - m, [1e-6, 2.0], 3.0),
        case("cbrt", lambda xp, x: (1.0 + x) ** (1.0 / 3.0) - 1.0, [1e-12, 0.5]),
        case("sq over", lambda xp, x, h: ((x + h) ** 2 - x**2) / h, [3.0, 2.0], [1e-10, 1e-6]),
        case(
            "pseudo huber", lambda xp, r, d: d**2 * (xp.sqrt(1 + (r / d) ** 2) - 1), [1e-8, 3.0, 1e160], 2.0
        ),
        case("dispersion", lambda xp, k, m: xp.sqrt(k**2 + m**2) - xp.sqrt(k**2), [1e8, 3.0], 0.5, kinds=VG),
        case("x32", lambda xp, x: (x + 1.0) ** 1.5 - x**1.5, [1e10, 3.0], kinds=VG),
    ),
    *family(
        "norm formulas",
        case(
            "dist",
            lambda xp, x, y: xp.sqrt(xp.sum((x - y) ** 2)),
            [3e200, 1e200, 0.0],
            [-1e200, 0.0, 1e200],
            kinds=VG,
        ),
        case("l4", lambda xp, x: xp.sum(x**4) ** 0.25, [1e100, -2e100, 3e99], kinds=VG),
        case("inv distance", lambda xp, x: 1.0 / xp.sqrt(xp.sum(x**2)), [1e200, -2e200, 0.5e200], kinds=VG),
        case(
            "hypot3",
            lambda xp, x, y, z: xp.sqrt(x**2 + y**2 + z**2),
            [3e200, 3e-200],
            [4e200, 4e-200],
            [12e200, 12e-200],
            kinds=VG,
        ),
        case("gravity", lambda xp, x: x / xp.sum(x**2) ** 1.5, [1e-110, 2e-110, 3e-110], kinds=V),
        case(
            "weighted",
            lambda xp, x, w: xp.sqrt(xp.sum(w * x**2)),
            [1e200, -2e200, 1e199],
            [0.5, 0.25, 2.0],
            kinds=VG,
        ),
        case(
            "ratio norms",
            lambda xp, x, y: xp.sqrt(xp.sum(x**2)) / xp.sqrt(xp.sum(y**2)),
            [1e200, 2e200],
            [3e180, 1e180],
            kinds=VG,
        ),
    ),
    *family(
        "normalise formulas",
        case(
            "cosine sim",
            lambda xp, a, b: xp.sum(a * b) / (xp.sqrt(xp.sum(a * a)) * xp.sqrt(xp.sum(b * b))),
            [1e200, 2e200, -1e200],
            [1e-200, 3e-200, 2e-200],
            kinds=VG,
        ),
        case("rmsnorm", lambda xp, x: x / xp.sqrt(xp.mean(x * x)), [1e-200, -3e-200, 5e-200], kinds=VG),
        case(
            "project",
            lambda xp, a, b: xp.sum(a * b) / xp.sum(b * b) * b,
            [1e200, 2e200, 1.0],
            [1e180, -1e180, 3e180],
            kinds=VG,
        ),
    ),
    *family(
        "quadratic formulas",
        case(
            "minus root",
            lambda xp, b, c: (-b - xp.sqrt(b * b - 4.0 * c)) / 2.0,
            [-1e8, -3e7],
            [1.0, 2.0],
            wrt=1,
            kinds=VG,
        ),
        case(
            "projectile",
            lambda xp, v, h: (v + xp.sqrt(v**2 + 2.0 * 9.81 * h)) / 9.81,
            [-1e8, -3e7],
            [1.0, 2.0],
            wrt=1,
            kinds=VG,
        ),
        case("lens", lambda xp, r, d: r - xp.sqrt(r**2 - d**2), [1e3, 3.0], [1e-4, 1e-9], wrt=1),
        case(
            "eigen2x2",
            lambda xp, a, b, c: 0.5 * (a + c) - 0.5 * xp.sqrt((a - c) ** 2 + 4.0 * b**2),
            [1e8, 3.0],
            [1.0, 1e-5],
            [1.0, 1e-8],
            kinds=V,
        ),
        case(
            "both roots product",
            lambda xp, b, c: ((-b + xp.sqrt(b**2 - 4 * c)) / 2) * ((-b - xp.sqrt(b**2 - 4 * c)) / 2),
            [1e8, 3.0],
            [1.0, 2.0],
            kinds=V,
        ),
    ),
    *family(
        "geometry formulas",
        case(
            "angle vec",
            lambda xp, a, b: xp.arccos(xp.dot(a, b) / (xp.sqrt(xp.dot(a, a)) * xp.sqrt(xp.dot(b, b)))),
            [1.0, 2.0, 3.0],
            [1.0 + 2.0**-27, 2.0, 3.0 - 2.0**-26],
            kinds=V,
        ),
        case(
            "sagitta",
            lambda xp, r, c: r - xp.sqrt(r * r - c * c / 4.0),
            [1e6, 2.0],
            [1.0, 1e-5],
            wrt=1,
            kinds=VG,
        ),
        case("horizon", lambda xp, h: xp.sqrt((6.371e6 + h) ** 2 - 6.371e6**2), [1e-6, 2.0], kinds=VG),
        case("chord arc", lambda xp, t: t - 2.0 * xp.sin(t / 2.0), [1e-4, 0.5], kinds=VG),
        case("kepler", lambda xp, E, e: E - e * xp.sin(E), [1e-5, 0.5], 1.0 - 2.0**-40, kinds=VG),
        case(
            "ellipse ecc",
            lambda xp, a, b: xp.sqrt(1.0 - b**2 / a**2),
            [3.0, 1e200],
            [3.0 - 2.0**-40, 1e190],
            kinds=VG,
        ),
        case("slerp", lambda xp, t, w: xp.sin((1.0 - t) * w) / xp.sin(w), [0.25, 0.75], 1e-6, wrt=1),
        case(
            "vec angle grad",
            lambda xp, a, b: xp.arccos(xp.sum(a * b) / xp.sqrt(xp.sum(a**2) * xp.sum(b**2))),
            [1.0, 2.0],
            [1.0 + 2.0**-25, 2.0],
            kinds=VG,
        ),
        case("cap height", lambda xp, R, a: R - xp.sqrt(R**2 - a**2), 6.4e6, [1.0, 1e5], wrt=1, kinds=VG),
        case(
            "orient2d",
            lambda xp, a, b, c: (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]),
            [0.5, 0.5],
            [12.0, 12.0],
            [24.0, 24.0 + 2.0**-40],
            kinds=VG,
        ),
    ),
    *family(
        "finance formulas",
        case(
            "log return sum",
            lambda xp, p: xp.sum(xp.log(p[1:] / p[:-1])),
            [100.0, 100.0 + 2.0**-30, 100.0 + 2.0**-31],
            kinds=VG,
        ),
        case(
            "crra", lambda xp, c, g: (c ** (1.0 - g) - 1.0) / (1.0 - g), [2.0, 3.0], 1.0 + 2.0**-30, kinds=VG
        ),
        case(
            "certainty eq small",
            lambda xp, x, a: -xp.log(xp.mean(xp.exp(-a * x))) / a,
            [1.0, 2.0, 1.5],
            1e-9,
            kinds=VG,
        ),
    ),
    *family(
        "epi formulas",
        case("final size", lambda xp, z, R0: 1.0 - xp.exp(-R0 * z) - z, [1e-9, 0.5], 1.5, kinds=VG),
        case("hill", lambda xp, x, n: x**n / (2.0**n + x**n), [3.0, 0.5], 1100.0, kinds=VG),
        case("hill3", lambda xp, x, k: x**4 / (k**4 + x**4), [1e100, 1e-100], 1e90, kinds=VG),
    ),
    *family(
        "chem formulas",
        case("butler volmer", lambda xp, e: xp.exp(0.5 * e) - xp.exp(-0.5 * e), [1e-10, 3.0]),
        case(
            "hh alpha",
            lambda xp, v: 0.1 * (v + 40.0) / (1.0 - xp.exp(-(v + 40.0) / 10.0)),
            [-40.0 + 2.0**-30, 20.0],
            kinds=VG,
        ),
        case("ph", lambda xp, c: -xp.log10((c + xp.sqrt(c**2 + 4e-14)) / 2.0), [-1.0, 1e-7], kinds=VG),
    ),
    *family(
        "relativity formulas",
        case("ke ratio", lambda xp, v: (1.0 / xp.sqrt(1.0 - v**2) - 1.0) / v**2, [1e-5, 0.5], kinds=VG),
        case("time diff", lambda xp, v: 1.0 - xp.sqrt(1.0 - v**2), [1e-9, 1e-4, 0.5]),
        case("energy gamma", lambda xp, v: 1 / xp.sqrt(1 - (v / 3e8) ** 2) - 1, [3e3, 1e8]),
        case("c2 form", lambda xp, v: xp.sqrt(1 - v**2 / 3e8**2), [3e8 - 1e-3, 1e8], kinds=VG),
        case("doppler z", lambda xp, b: xp.sqrt((1 + b) / (1 - b)) - 1, [1e-9, 0.5]),
    ),
    *family(
        "orbit formulas",
        case(
            "vis viva",
            lambda xp, r, a: xp.sqrt(2.0 / r - 1.0 / a),
            [2.0, 3.0],
            [1.0 + 2.0**-40, 2.0],
            kinds=VG,
        ),
        case(
            "hohmann",
            lambda xp, r1, r2: xp.sqrt(1.0 / r1) * (xp.sqrt(2.0 * r2 / (r1 + r2)) - 1.0),
            [1.0, 2.0],
            [1.0 + 2.0**-35, 3.0],
            wrt=1,
            kinds=VG,
        ),
        case(
            "rocket",
            lambda xp, m0, mf: 3.0 * xp.log(m0 / mf),
            [2.0, 1e200],
            [2.0 - 2.0**-40, 1e-200],
            kinds=VG,
        ),
        case("kepler r", lambda xp, e, E: 1 - e * xp.cos(E), 1.0 - 2.0**-45, [1e-7, 0.5], wrt=1, kinds=VG),
    ),
    *family(
        "signal formulas",
        case(
            "db add",
            lambda xp, x: 10.0 * xp.log10(xp.mean(10.0 ** (x / 10.0))),
            [-4000.0, -4003.0, -3990.0],
            kinds=VG,
        ),
        case("dirichlet", lambda xp, x: xp.sin(2.5 * x) / xp.sin(0.5 * x), [1e-7, 0.5]),
        case("rc charge", lambda xp, t, rc: 5.0 * (1.0 - xp.exp(-t / rc)), [1e-10, 2.0], 3.0, kinds=VG),
    ),
    *family(
        "queue formulas",
        case(
            "mm1k", lambda xp, r: (1.0 - r) * r**50.0 / (1.0 - r**51.0), [1.0 + 2.0**-30, 1e10, 0.5], kinds=V
        ),
    ),
    *family(
        "poincare formulas",
        case("acosh", lambda xp, x: xp.log(1.0 + x + xp.sqrt(x * (x + 2.0))), [1e-12, 1e200, 2.0], kinds=VG),
    ),
    *family(
        "sig formulas",
        case("one pole", lambda xp, f: 1.0 - xp.exp(-2.0 * np.pi * f / 48000.0), [1e-9, 1000.0], kinds=VG),
    ),
)
