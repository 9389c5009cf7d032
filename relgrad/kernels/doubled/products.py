"""Products of large matrices in doubled arithmetic, by products of matrices of floats that round nothing.

    a = Σ_p a_p,  b = Σ_q b_q  ⇒  a·b = Σ_pq a_p·b_q

for slices of so few bits that no sum of products of their entries rounds: three exact slices of each, and what they
leave, whose products are computed as floats.

Source: Ozaki, Ogita, Oishi & Rump 2012, Error-free transformations of matrix multiplication by using fast routines of
matrix multiplication and its applications, §3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgrad.kernels import eft
from relgrad.kernels.doubled.number import TINY, Doubled, with_error

SLICES = 3


def sliced_product(a: Doubled, b: Doubled) -> Doubled:
    """(a·b)_ik = Σ_j a_ij·b_jk ± c·max_j |a_ij|·max_j |b_jk|, with a c near n²·2⁻¹⁰³ for sums of n products."""
    n = a.shape[-1]
    bits = (55 - (n - 1).bit_length()) // 2
    (first, left, rows), (second, right, columns) = _sliced(a, bits, -1), _sliced(b, bits, -2)
    products: Any = 0.0
    for x, y in zip((*first, left[-1]), (*right[:0:-1], right[0]), strict=True):
        if np.any(x) and np.any(y):
            products = products + np.matmul(x, y)
    found = products, np.zeros(np.shape(products))
    for level in reversed(range(SLICES)):
        for x, y in zip(first[: level + 1], second[level::-1], strict=True):
            if np.any(x) and np.any(y):
                found = eft.add_float(found, np.matmul(x, y))
    error = n * (2.0 ** (-bits - 98) + n * 2.0**-48 * (2.0 ** (-SLICES * bits) + 2.0**-53))
    scale = np.frexp(rows)[1] + np.frexp(columns)[1]
    return with_error(eft.ldexp(found, scale), error * (rows * columns) + n * TINY + _carried(a, b))


def _sliced(x: Doubled, bits: int, axis: int) -> tuple[list[Any], list[Any], Any]:
    """x, β → slices, rests, m = max |x|: x/2ᵉ = s₀ + … + s_p + rest_p where |s_p| ≤ 2^(−β·p), of β bits, m ≤ 2ᵉ."""
    largest = np.max(np.abs(x.hi), axis=axis, keepdims=True)
    high, low = eft.ldexp((x.hi, x.pair[1]), -np.frexp(largest)[1])
    slices, rests = [], [high]
    for p in range(1, SLICES + 1):
        whole = 1.5 * 2.0 ** (53 - bits * p)
        slices.append((high + whole) - whole)
        rest = high - slices[-1]
        high = rest if np.any(rest) else 0.0
        rests.append(high + low)
    return slices, rests, largest


def _carried(a: Doubled, b: Doubled) -> Any:
    """(a ± da)·(b ± db) → |a|·db + da·(|b| + db), and what rounds in these: the bound that the operands bring along."""
    carried = 0.0
    if not b.exact:
        carried = carried + np.matmul(np.abs(a.hi), b.parts[2])
    if not a.exact:
        carried = carried + np.matmul(a.parts[2], np.abs(b.hi) + b.bound)
    return carried * (1.0 + a.shape[-1] * 2.0**-50)
