"""Taylor's remainders: a function at several near points, where the first terms of its expansion cancel.

    Σₖ cₖ·f(y + dₖ) = Σₖ cₖ·Rₘ(y + dₖ, y)    where Σₖ cₖ·dₖʲ = 0 for all j < m
    f(x + h) - 2·f(x) + f(x - h)  ⟶  R₂(x + h, x, h) + R₂(x - h, x, -h)

Rₘ(x, y) = f(x) − Σ_{j<m} f⁽ʲ⁾(y)·(x − y)ʲ/j! is the integral (x − y)ᵐ/(m − 1)!·∫₀¹ (1 − t)ᵐ⁻¹·f⁽ᵐ⁾(y + t·(x − y)) dt.

Source: NIST DLMF 1.4.37.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from relgrad.calculus.increment import Search, alike, exchanged
from relgrad.gradient import derivative
from relgrad.interpret import interpret
from relgrad.kernels.dispatch import floats
from relgrad.leaf import Input
from relgrad.logic.build import build_sum
from relgrad.logic.group import Number, SumView, added, multiplied
from relgrad.logic.parts import dtype_of
from relgrad.logic.view import product_of, sum_of, summand
from relgrad.op import is_constant
from relgrad.ops.elementwise import Elementwise
from relgrad.ops.increments import QUADRATURES, averaged, converged
from relgrad.term import Term, substitute, subterms, term
from relgrad.types import ArrayType

HIGHEST = 6
"""Remainders of a higher order are not looked for."""


class Curve(NamedTuple):
    """z ↦ f(z; c₁, …), entry by entry: a function of a number, and of others that stay as they are."""

    root: Term
    z: Term
    others: tuple[Term, ...]

    def derivative(self) -> Curve:
        """z ↦ f(z) → z ↦ f′(z)"""
        return self._replace(root=derivative(self.root, self.z))

    def __call__(self, z: Any, others: Sequence[Any]) -> Any:
        values = {self.z: z, **dict(zip(self.others, others, strict=True))}
        return np.broadcast_to(interpret([self.root], values, typed=False)[0], np.shape(z))


class Remainder(Elementwise):
    """Rₘ(x, y) = f(x) − Σ_{j<m} f⁽ʲ⁾(y)·dʲ/j! as an op of x, y, what else f depends on, and d = x − y."""

    __props__ = ("curve", "order")

    def __init__(self, curve: Curve, order: int):
        """d = x − y is told, so that the op is no worse than its distance; its own derivatives are not known."""
        self.curve, self.order = curve, order
        self._curves = [curve]
        super().__init__(
            f"remainder_{order}",
            self._computed,
            arity=3 + len(curve.others),
            undefined="a remainder is taken where all has been differentiated",
            called=True,
        )
        self.distance = 0, 1, 2 + len(curve.others)

    def _derivative(self, order: int) -> Curve:
        while len(self._curves) <= order:
            self._curves.append(self._curves[-1].derivative())
        return self._curves[order]

    def _computed(self, *operands: Any) -> Any:
        """f(x) − Σ_{j<m} f⁽ʲ⁾(y)·dʲ/j!, and by its integral where that cancels and two quadratures agree."""
        with np.errstate(all="ignore"):
            x, y, *others, d = np.broadcast_arrays(*floats(*operands))
            parts = [-self._derivative(j)(y, others) * (d**j / factorial(j)) for j in range(self.order)]
            parts.append(self.curve(x, others))
            plain = np.array(sum(parts), x.dtype)
            scale: Any = sum(map(np.abs, parts))
            near = np.abs(plain) <= scale / 4
            if near.any():
                y, *others, d, left, scale = (v[near] for v in (y, *others, d, plain, scale))
                few, many = (self._integral(y, d, others, rule) for rule in QUADRATURES)
                right = converged(left, few, many, scale + np.abs(d * self._derivative(1)(y, others)))
                plain[near] = np.where(right, many, left)
        return plain[()]

    def _integral(self, y: Any, d: Any, others: Any, quadrature: Any) -> Any:
        """dᵐ/(m − 1)!·∫₀¹ (1 − t)ᵐ⁻¹·f⁽ᵐ⁾(y + t·d) dt"""
        m, last = self.order, self._derivative(self.order)
        return (
            d**m
            / factorial(m - 1)
            * averaged(lambda t: (1 - t) ** (m - 1) * last(y + t * d, others), quadrature, y)
        )


class Point(NamedTuple):
    """A summand c·f(x) beside f(y), and the distance x − y."""

    factor: Number
    x: Term
    distance: Term


def remaindered(t: Term) -> Term | None:
    """f(x + h) − 2·f(x) + f(x − h) ⟶ R₂(x + h, x, h) + R₂(x − h, x, −h): one function at near points; or None."""
    view = sum_of(t)
    if not t.ground or len(view.terms) < 3:
        return None
    for parts in alike(t).values():
        if len(parts) < 3 or sum(k for _, k in parts):
            continue
        inner = _inside(parts)
        if inner is not None:
            return exchanged(t, parts, sum_of(inner))
        # The middle of a stencil is asked before its ends.
        for base, _ in sorted(parts, key=lambda part: -abs(part[1])):
            found = _expanded([p for p in parts if p[0] is not base], base)
            if found is not None:
                return exchanged(t, parts, sum_of(found))
    return None


def _inside(parts: Sequence[tuple[Term, Number]]) -> Term | None:
    """Σ cₖ·L(aₖ) = L(Σ cₖ·aₖ) for a linear op L of one array; or None."""
    first = parts[0][0]
    if first.op.elementwise or first.op.laws.linear != (0,) or len(first.rands) != 1:
        return None
    if any(p.op != first.op or p.rands[0].type != first.rands[0].type for p, _ in parts):
        return None
    inside = added(*[(SumView(0, {p.rands[0]: 1}), k) for p, k in parts])
    return first.op.make_node(build_sum(inside, dtype_of(first.rands[0])))


def _expanded(parts: Sequence[tuple[Term, Number]], base: Term) -> Term | None:
    """Σ cₖ·f(xₖ) − (Σ cₖ)·f(y) = Σ cₖ·Rₘ(xₖ, y), where Σ cₖ·(xₖ − y)ʲ = 0 for 0 < j < m; None for m < 2."""
    search = Search()
    points: list[Point] = []
    known: tuple[Curve, tuple[Term, ...], Term] | None = None
    for p, k in parts:
        hole = _hole(p, base, search)
        if hole is None:
            return None
        x, y, distance = hole
        ours, theirs = _curve(p, x), _curve(base, y)
        if ours is None or ours != theirs or (known is not None and (*ours, y) != known):
            return None
        known = *ours, y
        points.append(Point(k, x, distance))
    assert known is not None
    curve, others, y = known
    order = 1
    while order < HIGHEST and _vanishes(points, order):
        order += 1
    if order < 2:
        return None
    op, dtype = Remainder(curve, order), dtype_of(base)
    total = added(*[(SumView(0, {op.make_node(p.x, y, *others, p.distance): 1}), p.factor) for p in points])
    return build_sum(total, dtype)


def _vanishes(points: Sequence[Point], order: int) -> bool:
    """Whether Σ cₖ·dₖʲ = 0: of 1·h + 1·(−h), j = 1: yes; j = 2: no."""
    moment = added(
        *[
            (summand(multiplied((product_of(p.distance), order)), None, dtype_of(p.distance)), p.factor)
            for p in points
        ]
        if order > 1
        else [(sum_of(p.distance), p.factor) for p in points]
    )
    return not moment.terms and not moment.constant


def _hole(p: Term, q: Term, search: Search) -> tuple[Term, Term, Term] | None:
    """sin(x + h)·y, sin(x)·y → x + h, x, h: the one pair in which two terms differ, and its distance; or None."""
    found: set[tuple[Term, Term]] = set()
    stack, seen = [(p, q)], set[tuple[Term, Term]]()
    while stack:
        pair = a, b = stack.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if search.is_shift(a, b):
            found.add(pair)
        elif a.rands and a.op == b.op and len(a.rands) == len(b.rands):
            stack += zip(a.rands, b.rands, strict=True)
        else:
            return None
    if len(found) != 1:
        return None
    ((x, y),) = found
    distance = search.of(x, y)
    return None if distance is None else (x, y, distance.term)


def _curve(p: Term, x: Term) -> tuple[Curve, tuple[Term, ...]] | None:
    """y·sin(x + h), x + h → c₀·sin(z), (y): a term as a function of one subterm, entry by entry, and of others."""
    moving = {x}
    others: dict[Term, Term] = {}
    for node in subterms(p):
        if node in moving or not any(rand in moving for rand in node.rands):
            continue
        if not node.op.elementwise or not isinstance(node.type, ArrayType) or not node.type.differentiable:
            return None
        moving.add(node)
    for node in subterms(p):
        if node in moving and node is not x:
            for rand in node.rands:
                if rand not in moving and not (is_constant(rand) and rand.op.value.ndim == 0):
                    others.setdefault(rand, _leaf(f"c{len(others)}", rand))
    z = _leaf("z", x)
    (root,) = substitute([p], {x: z, **others})
    return Curve(root, z, tuple(others.values())), tuple(others)


def _leaf(name: str, like: Term) -> Term:
    """x of shape (3,) → a leaf for one of its entries."""
    return term(Input(name, ArrayType(like.type.dtype, ()), symbol=True))
