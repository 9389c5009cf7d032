"""Error-free transformations, and sums hi + lo of two floats computed with them: arrays in pairs, without bounds.

    two_sum(a, b) = (s, t) with s = fl(a + b) and s + t = a + b
    two_product(a, b) = (p, t) with p = fl(a·b) and p + t = a·b

unless something overflows, or a product falls below 2⁻⁹⁶⁹. Of a pair, |lo| ≤ ulp(hi)/2.

Sources: Knuth 1969, The art of computer programming, vol. 2, §4.2.2; Dekker 1971, A floating-point technique for
extending the available precision; Ogita, Rump & Oishi 2005, Accurate sum and dot product; Joldes, Muller & Popescu
2017, Tight and rigorous error bounds for basic building blocks of double-word arithmetic, for the bounds: 3u², 2u²
(with a float), 8u² and 15u² for sums, products and quotients, u = 2⁻⁵³.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Pair = tuple[Any, Any]
_SPLIT = 2.0**27 + 1


def two_sum(a: Any, b: Any) -> Pair:
    """a, b → s, t with s = fl(a + b) and s + t = a + b."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


def fast_two_sum(a: Any, b: Any) -> Pair:
    """a, b → s, t with s = fl(a + b) and s + t = a + b, where |a| ≥ |b|, or a = 0."""
    s = a + b
    return s, b - (s - a)


def split(a: Any) -> Pair:
    """a → h, a − h, two floats of 26 bits; of 12 in single precision."""
    c = (2.0**12 + 1 if getattr(a, "dtype", None) == np.float32 else _SPLIT) * a
    high = c - (c - a)
    return high, a - high


def two_product(a: Any, b: Any) -> Pair:
    """a, b → p, t with p = fl(a·b) and p + t = a·b."""
    p = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def two_square(a: Any) -> Pair:
    """a → p, t with p = fl(a²) and p + t = a²."""
    p = a * a
    a1, a2 = split(a)
    return p, a2 * a2 - ((p - a1 * a1) - 2.0 * (a1 * a2))


def add(x: Pair, y: Pair) -> Pair:
    """(x₀ + x₁) + (y₀ + y₁), within 3u²."""
    s, t = two_sum(x[0], y[0])
    v, w = two_sum(x[1], y[1])
    s, t = fast_two_sum(s, t + v)
    return fast_two_sum(s, t + w)


def add_smaller(x: Pair, y: Pair) -> Pair:
    """x + y where |x| ≥ |y|, or x = 0."""
    s, t = fast_two_sum(x[0], y[0])
    return fast_two_sum(s, t + (x[1] + y[1]))


def add_float(x: Pair, y: Any) -> Pair:
    """x + y for floats y, within 2u²."""
    s, t = two_sum(x[0], y)
    return fast_two_sum(s, t + x[1])


def negative(x: Pair) -> Pair:
    """Return -x."""
    return -x[0], -x[1]


def multiply(x: Pair, y: Pair) -> Pair:
    """(x₀ + x₁)·(y₀ + y₁) ≈ x₀·y₀ + (x₀·y₁ + x₁·y₀), the first product exact."""
    p, t = two_product(x[0], y[0])
    return fast_two_sum(p, t + (x[0] * y[1] + x[1] * y[0]))


def multiply_float(x: Pair, y: Any) -> Pair:
    """(x₀ + x₁)·y for floats y: x₀·y exact, and x₁·y."""
    p, t = two_product(x[0], y)
    return fast_two_sum(p, t + x[1] * y)


def square(x: Pair) -> Pair:
    """(x₀ + x₁)² ≈ x₀² + 2·x₀·x₁, the first square exact."""
    p, t = two_square(x[0])
    return fast_two_sum(p, t + 2.0 * (x[0] * x[1]))


def divide(x: Pair, y: Pair) -> Pair:
    """x/y = q + (x − q·y)/y, with q = x₀/y₀ in floats."""
    q = x[0] / y[0]
    p, t = two_product(q, y[0])
    rest = (x[0] - p) - t + x[1] - q * y[1]
    return fast_two_sum(q, rest / y[0])


def sqrt(x: Pair) -> Pair:
    """√x = s + (x − s²)/(2·s), with s = √x₀ in floats."""
    s = np.sqrt(x[0])
    p, t = two_square(s)
    rest = (x[0] - p) - t + x[1]
    return fast_two_sum(s, np.where(s > 0, rest / (2.0 * s), 0.0))


def ldexp(x: Pair, k: Any) -> Pair:
    """x·2ᵏ = x·2^(k/2)·2^(k/2), where 2ᵏ itself need not be a float."""
    half = k >> 1
    return np.ldexp(np.ldexp(x[0], half), k - half), np.ldexp(np.ldexp(x[1], half), k - half)


def pick(c: Any, x: Pair, y: Pair) -> Pair:
    """Return where(c, x, y)."""
    return np.where(c, x[0], y[0]), np.where(c, x[1], y[1])
