"""Squares of distances between the rows of two matrices, which norms and a product of matrices lose.

‖xᵢ‖² + ‖yⱼ‖² − 2·(x @ yᵀ)ᵢⱼ     Σₖ (xᵢₖ − yⱼₖ)²
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from quicktions import Fraction

from relgrad.logic.build import build_product, fit
from relgrad.logic.group import Number, ProductView, SumView, added, multiplied
from relgrad.logic.parts import dtype_of, rebuilt
from relgrad.logic.view import SHARED, product_of, sum_of, summand
from relgrad.ops.arithmetic import square, subtract
from relgrad.ops.matmul import MatMul
from relgrad.ops.reduction import Sum
from relgrad.ops.shaping import Transpose
from relgrad.ops.structure import Squeeze, expand, squeeze
from relgrad.term import Term, is_term

ENTRIES = 1 << 18
"""So many differences of coordinates are formed at most, one by one, where a product of matrices has BLAS."""


def squared_distances(t: Term) -> Any:
    """‖xᵢ‖² + ‖yⱼ‖² − 2·(x @ yᵀ)ᵢⱼ → Σₖ (xᵢₖ − yⱼₖ)²: a sum of squared norms, less a product of matrices; or None."""
    view, dtype = sum_of(t), dtype_of(t)
    parts = [x for x in view.terms if is_term(x)]
    if not 3 <= len(parts) <= SHARED:
        return None
    for part, product, k, outside in ((x, *found) for x in parts for found in _with(MatMul, x, view)):
        views = [product_of(x) for x in product.rands]
        a, b = [build_product(v._replace(coefficient=1), dtype) for v in views]
        k = k * math.prod([Fraction(v.coefficient) for v in views])
        shapes = a.type.shape, b.type.shape
        if any(len(s) != 2 or None in s for s in shapes) or math.prod(shapes[0]) * shapes[1][1] > ENTRIES:
            continue
        for p, q in permutations(parts, 2):
            norms = [_norm(p, view, a, outside), _norm(q, view, b, outside, of_columns=True)]
            if norms == [-k / 2, -k / 2]:
                gaps = square(subtract(expand(a, (-1,)), expand(b, (-3,))))
                distances = squeeze(Sum((-2,)).make_node(gaps), (-2,))
                whole = summand(multiplied((outside, 1), (product_of(distances), 1)), None, dtype)
                gone = [(SumView(0, {x: view.terms[x]}), -1) for x in (p, q, part)]
                new = added((view, 1), *gone, (whole, -k / 2))
                return fit(rebuilt(new, t), t)
    return None


def _with(kind: Any, x: Term, view: SumView) -> Iterator[tuple[Term, Fraction, ProductView]]:
    """2·c·(a @ b) → a @ b, 2, c: a factor of a kind in a summand, the summand's coefficient, and what is beside."""
    whole = product_of(x)
    for base, e in whole.factors.items():
        if e == 1 and is_term(base) and type(base.op) is kind:
            beside = {f: n for f, n in whole.factors.items() if f is not base}
            yield base, Fraction(view.terms[x]) * whole.coefficient, ProductView(1, beside)


def _norm(x: Term, view: SumView, a: Term, outside: ProductView, of_columns: bool = False) -> Number | None:
    """c·‖aᵢ‖² → c: the coefficient of the squared norms of the rows of a matrix, as a column, or of its columns, as a
    row, which are those of the rows of aᵀ; None where a summand is neither.
    """
    forms: list[tuple[Any, Term, int]] = [(Sum, a, -2 if of_columns else -1)]
    if of_columns and type(a.op) is Transpose:
        forms.append((Squeeze, a.rands[0], -1))
    for kind, of, axis in forms:
        for base, k, beside in _with(kind, x, view):
            inner = product_of(base.rands[0]) if kind is Squeeze else ProductView(1, {base: 1})
            norms = [b for b in inner.factors if is_term(b) and type(b.op) is Sum and b.op.axes == (axis,)]
            if len(norms) != 1 or inner.factors[norms[0]] != 1 or norms[0].type.ndim != 2:
                continue
            scale = multiplied((inner, 1), (ProductView(1, {norms[0]: 1}), -1))
            if any(is_term(b) and b.type.ndim for b in scale.factors):
                continue
            beside = multiplied((beside, 1), (scale._replace(coefficient=1), 1))
            same = beside.factors == outside.factors
            if same and product_of(norms[0].rands[0]) == product_of(square(of)):
                return k * scale.coefficient
    return None
