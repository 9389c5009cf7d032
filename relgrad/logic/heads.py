"""Heads: what a side of an equation demands of the place where it is rooted, and what a place has to offer.

A pattern is compared only with places that offer all the heads that it demands, at the root and one level below it;
what it demands is read off once, what a place offers is computed once per term and theory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from relgrad.logic.associative import operands
from relgrad.logic.group import ProductView
from relgrad.logic.theory import BAG, PRODUCTS, SUMS, linear_positions, theories_of
from relgrad.logic.view import product_of, sum_of
from relgrad.op import Op
from relgrad.ops.arithmetic import power
from relgrad.term import Term, is_term

Key = Op | type


class Demand(NamedTuple):
    """An operand, the theory under which it is read, and the heads that it must offer."""

    position: int
    kind: str
    heads: frozenset[Key]


class Pattern(NamedTuple):
    """One side of an equation, read once: how its root is matched, and the heads without which it cannot be."""

    term: Any
    kind: str
    needs: frozenset[Key]
    operands: tuple[Demand, ...] = ()


def head_key(op: Op) -> Key:
    """Return what patterns are indexed by: the op itself, or its class where it has parameters of its own."""
    return op if op.elementwise else type(op)


def compile_pattern(p: Any) -> Pattern:
    """Read a side of an equation: as a product, a sum, an op applied, or a variable, which matches anything."""
    if not is_term(p):
        return Pattern(p, "anything", frozenset())
    kind, heads = _read(p)
    if theories_of(p.op) & BAG:
        return Pattern(p, "bag", heads, (Demand(-1, "bag", _bag_needs(p)),))
    if kind == "op" and not (p.op.laws.commutative and len(p.rands) > 1):
        demands = [Demand(i, *_offered_as(rand)) for i, rand in enumerate(p.rands) if is_term(rand)]
        return Pattern(p, kind, heads, tuple(d for d in demands if d.heads))
    return Pattern(p, kind, heads)


def _read(p: Term) -> tuple[str, frozenset[Key]]:
    view = product_of(p)
    if (p.op in PRODUCTS or p.op is power) and p not in view.factors:
        return "product", _keys(view.factors)
    if p.op in SUMS:
        return "sum", _keys(b for b in sum_of(p).terms if is_term(b) and b in product_of(b).factors)
    return "op", frozenset([head_key(p.op)])


def _bag_needs(p: Term) -> frozenset[Key]:
    needs = [_offered_as(q) for q in operands(p, p.op) if is_term(q)]
    return frozenset(key for kind, heads in needs if kind == "product" for key in heads)


def _offered_as(p: Term) -> tuple[str, frozenset[Key]]:
    """Return how an operand of a pattern is read; what is neither a product nor a sum is a factor of one."""
    kind, heads = _read(p)
    if not p.ground:
        return ("product", heads) if kind == "op" else (kind, heads)
    # A constant is compared by value, and anything ground by what it equals, which may have another head.
    return kind, frozenset()


def _keys(bases: Iterable[Any]) -> frozenset[Key]:
    return frozenset(head_key(b.op) for b in bases if is_term(b) and not b.ground)


def heads_of(t: Term, kind: str) -> frozenset[Key]:
    """Return the heads that a term offers when it is read as a product, as a sum, or as an op applied."""
    if kind == "op":
        return frozenset([head_key(t.op)])
    name = f"{kind} heads"
    found = t.cache.get(name)
    if found is None:
        if kind == "product":
            found = frozenset(product_heads(product_of(t), 3))
        elif kind == "bag":
            found = frozenset(key for q in operands(t, t.op) for key in product_heads(product_of(q), 3))
        else:
            found = frozenset(key for b in sum_of(t).terms for key in product_heads(product_of(b), 0))
        t.cache[name] = found
    return found


def offered(t: Term, position: int, kind: str) -> frozenset[Key]:
    """Return the heads that an operand of a term offers, what a function of single entries looks through included."""
    rand = t.rands[position]
    heads = heads_of(rand, kind)
    if t.op.elementwise and len(t.rands) == 1:
        while rand.op.laws.selects:
            rand = rand.rands[0]
            heads |= heads_of(rand, kind)
    return heads


def product_heads(view: ProductView, depth: int) -> Iterator[Key]:
    """Yield the heads of the factors, and of those below so many linear contractions."""
    for base in view.factors:
        if not is_term(base):
            continue
        yield head_key(base.op)
        if depth:
            for rand in [base.rands[i] for i in linear_positions(base.op) if i < len(base.rands)]:
                yield from product_heads(product_of(rand), depth - 1)
