"""Physics and finance."""

from __future__ import annotations

from cases.case import case, family

VG = ("value", "gradient")
V = ("value",)
G = ("gradient",)


def annuity(xp, r, n):
    return r / (1.0 - (1.0 + r) ** (-n))


def two_levels(xp, e, t):
    z = xp.exp(-e / t)
    return (e / t) ** 2 * z / (1.0 + z) ** 2


CASES = (
    *family(
        "physics",
        case("Planck's law", lambda xp, x: x**3 / (xp.exp(x) - 1.0), [1e-8, 2.0, 30.0]),
        case("Planck's law, far out", lambda xp, x: x**3 / (xp.exp(x) - 1.0), [800.0, 600.0], kinds=VG),
        case("Bose function", lambda xp, e, t: 1.0 / (xp.exp(e / t) - 1.0), [1e-10, 2.0], 0.5),
        case(
            "Bose function, to the temperature",
            lambda xp, e, t: 1.0 / (xp.exp(e / t) - 1.0),
            [1e-6, 2.0],
            0.5,
            wrt=1,
        ),
        case("kinetic energy", lambda xp, v: 1.0 / xp.sqrt(1.0 - v**2) - 1.0, [1e-6, 1e-3, 0.5]),
        case(
            "kinetic energy by momentum", lambda xp, p, m: xp.sqrt(p**2 + m**2) - m, [1e-6, 3.0], [1.0, 4.0]
        ),
        case("Lorentz factor", lambda xp, e: 1.0 / xp.sqrt(1.0 - (1.0 - e) ** 2), [1e-14, 1e-6]),
        case("rapidity", lambda xp, v: 0.5 * xp.log((1.0 + v) / (1.0 - v)), [1e-10, 0.5]),
        case(
            "relativistic Doppler", lambda xp, v: xp.sqrt((1.0 + v) / (1.0 - v)) - 1.0, [1e-10, 0.5], kinds=VG
        ),
        case(
            "velocities, added",
            lambda xp, u, v: 1.0 - (u + v) / (1.0 + u * v),
            [1.0 - 2.0**-30, 0.5],
            [1.0 - 2.0**-25, 0.25],
            kinds=V,
        ),
        case(
            "Einstein heat",
            lambda xp, x: x**2 * xp.exp(x) / (xp.exp(x) - 1.0) ** 2,
            [1e-6, 800.0, 2.0],
            kinds=VG,
        ),
        case("two-level heat", two_levels, 2.0, [0.001953125, 1.0], wrt=1, kinds=VG),
        case(
            "partition function of an oscillator",
            lambda xp, x: xp.log(xp.exp(-x / 2.0) / (1.0 - xp.exp(-x))),
            [1e-9, 1500.0, 1.0],
        ),
        case(
            "Brillouin of a half",
            lambda xp, x: (xp.exp(x) - xp.exp(-x)) / (xp.exp(x) + xp.exp(-x)),
            [1e-9, 800.0],
        ),
        case(
            "Nernst",
            lambda xp, a, b: 0.0257 * xp.log(a / b),
            [1e-200, 3.0],
            [1e200, 3.0 - 2.0**-30],
            kinds=VG,
        ),
        case(
            "Goldman-Hodgkin-Katz",
            lambda xp, v: v * (5.0 - 150.0 * xp.exp(-v)) / (1.0 - xp.exp(-v)),
            [1e-9, 2.0, 800.0],
            kinds=VG,
        ),
        case(
            "Hodgkin-Huxley rate",
            lambda xp, v: 0.125 * (v + 40.0) / (1.0 - xp.exp(-(v + 40.0) / 10.0)),
            [-40.0 + 2.0**-30, 20.0],
            kinds=VG,
        ),
        case(
            "Debye integrand",
            lambda xp, x: x**4 * xp.exp(x) / (xp.exp(x) - 1.0) ** 2,
            [1e-4, 800.0],
            kinds=VG,
        ),
        case(
            "Arrhenius ratio",
            lambda xp, e, t: xp.exp(-e / t) / xp.exp(-e / 300.0),
            3e5,
            [305.0, 310.0],
            wrt=1,
            kinds=VG,
        ),
        case("Morse potential", lambda xp, r: (1.0 - xp.exp(-r)) ** 2, [1e-9, 2.0]),
        case(
            "harmonic near the minimum",
            lambda xp, x: xp.cosh(x) - 1.0 - 0.5 * x**2,
            [1e-3, 0.1, 2.0],
            kinds=V,
        ),
        case(
            "gravity difference",
            lambda xp, r, h: 1.0 / r**2 - 1.0 / (r + h) ** 2,
            [1.0, 6.4e6],
            [1e-12, 1.0],
            wrt=1,
        ),
        case(
            "lens combination",
            lambda xp, a, b: 1.0 / (1.0 / a + 1.0 / b),
            [1e-200, 3.0],
            [2e-200, 1e200],
            kinds=VG,
        ),
        case("Saha", lambda xp, s: (-s + xp.sqrt(s**2 + 4.0 * s)) / 2.0, [1e10, 1e-6], kinds=VG),
        case(
            "entropy of mixing",
            lambda xp, x: -(x * xp.log(x) + (1.0 - x) * xp.log(1.0 - x)),
            [1e-17, 0.25],
            kinds=VG,
        ),
        case("attenuation", lambda xp, a, t: (1.0 - xp.exp(-a * t)) / a, [1e-12, 2.0], [3.0, 0.5]),
        case("optical depth of a slab", lambda xp, t: 1.0 - (1.0 - xp.exp(-t)) / t, [1e-6, 1e-2, 3.0]),
        case("pendulum energy", lambda xp, a: xp.sqrt(2.0 * (1.0 - xp.cos(a))), [1e-8, 1e-3], kinds=VG),
    ),
    *family(
        "finance",
        case(
            "compound interest",
            lambda xp, i: 100.0 * ((1.0 + i / 365.0) ** 365.0 - 1.0) / (i / 365.0),
            [0.06, 1e-9],
            kinds=VG,
        ),
        case("annuity payment", annuity, [1e-10, 0.005], 360.0, kinds=VG),
        case(
            "present value", lambda xp, r, n: (1.0 - (1.0 + r) ** (-n)) / r, [1e-10, 0.005], 360.0, kinds=VG
        ),
        case("continuous rate", lambda xp, r, n: n * xp.log(1.0 + r / n), [0.05, 1e-12], [365.0, 12.0]),
        case(
            "effective rate",
            lambda xp, r, n: (1.0 + r / n) ** n - 1.0,
            [0.05, 1e-12],
            [365.0, 12.0],
            kinds=VG,
        ),
        case(
            "effective rate, to the periods",
            lambda xp, r, n: (1.0 + r / n) ** n - 1.0,
            [0.05, 0.25],
            [1e8, 1e12],
            wrt=1,
            kinds=G,
        ),
        case(
            "future value by exponentials",
            lambda xp, r, n: (xp.exp(n * xp.log(1.0 + r)) - 1.0) / r,
            [1e-10, 0.005],
            360.0,
            kinds=VG,
        ),
        case("log return", lambda xp, a, b: xp.log(b / a), [100.0, 3.0], [100.0 + 2.0**-30, 3.0 - 2.0**-40]),
        case("simple return", lambda xp, a, b: b / a - 1.0, [100.0, 3.0], [100.0 + 2.0**-30, 3.0 - 2.0**-40]),
        case(
            "Black-Scholes call",
            lambda xp, s, k, v: (
                s * xp.special.ndtr((xp.log(s / k) + 0.5 * v**2) / v)
                - k * xp.special.ndtr((xp.log(s / k) - 0.5 * v**2) / v)
            ),
            [110.0, 95.0],
            100.0,
            0.25,
            kinds=VG,
        ),
        case("discount difference", lambda xp, r, t: xp.exp(-r * t) - 1.0, [1e-12, 0.05], [0.5, 2.0]),
        case("Nelson-Siegel", lambda xp, t: (1.0 - xp.exp(-t)) / t - xp.exp(-t), [1e-6, 1e-2, 3.0]),
        case(
            "log utility difference",
            lambda xp, w, d: xp.log(w + d) - xp.log(w),
            [1e6, 3.0],
            [1e-6, 1e-10],
            wrt=1,
        ),
        case(
            "power utility",
            lambda xp, c, g: (c ** (1.0 - g) - 1.0) / (1.0 - g),
            [2.0, 3.0],
            [1.0 + 2.0**-30, 1.0 - 2.0**-20],
            wrt=1,
            kinds=VG,
        ),
    ),
)
