"""Equality of ground terms modulo the theories, decided by keys: terms are equal if their keys are one object."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from relgrad.key import Key, interned
from relgrad.logic.group import ProductView, SumView
from relgrad.logic.space import bare
from relgrad.logic.theory import BAG, theories_of
from relgrad.logic.view import MOST, operands, product_of, sum_of, width
from relgrad.op import Constant
from relgrad.term import Term, is_term, kept
from relgrad.types import ArrayType


def equal_ground(u: Any, v: Any) -> bool:
    """Whether two ground terms are equal modulo the theories of products and sums, at every depth."""
    if u is v or not (is_term(u) and is_term(v)):
        return u is v or (not is_term(u) and not is_term(v) and u == v)
    return canonical_key(u) is canonical_key(v)


def canonical_key(t: Term) -> Key:
    """key(y·x) = key(x·y) = (product, 1, {(x, 1), (y, 1)}): of anything else, the op and its operands' keys.

    Each distinct term has its key computed once, bottom-up; keys are interned, so comparing them never recurses.
    """
    return kept(t, "canonical", _key, lambda node: _parts(node)[0])


def _key(t: Term) -> Key:
    parts, make = _parts(t)
    return interned(make([part.cache["canonical"] for part in parts]))


def _parts(t: Term) -> tuple[list[Term], Any]:
    """2·x + y → [x, y], keys ↦ (sum, 0, {(x, 2), (y, 1)}): the terms whose keys a key is made of, and how."""
    if type(t.op) is Constant and t.op.value.size == 1 and not np.isfinite(t.op.value).all():
        # Infinities and NaN are no numbers of the theories, but equal whatever dtype their partners gave them.
        unnumbered = str(t.op.value.item())
        return [], lambda keys: ("constant", unnumbered)
    view: ProductView = product_of(t)
    bases, exponents = list(view.factors), list(view.factors.values())
    if view.coefficient == 1 and exponents == [1] and bases != [t]:
        return bases, lambda keys: keys[0].parts
    total: SumView = sum_of(t)
    multiple = len(bases) == 1 and exponents == [1]
    if multiple and (len(total.terms) > 1 or (total.constant and total.terms)):
        amounts = list(total.terms.values())
        return list(total.terms), lambda keys: (
            "sum",
            total.constant,
            frozenset(zip(keys, amounts, strict=True)),
        )
    if bases != [t] or exponents != [1] or view.coefficient != 1:
        return bases, lambda keys: ("product", view.coefficient, frozenset(zip(keys, exponents, strict=True)))
    # Of more operands than are read as one, both of the last application must be equal.
    is_flat = theories_of(t.op) & BAG and width(t, BAG, MOST) <= MOST
    parts = operands(t, t.op) if is_flat else list(t.rands)
    # What is equal but for being broadcast is not equal under an op that counts entries, or moves them.
    shapes = None if t.op.elementwise else [_shape(rand) for rand in parts]
    known = lambda keys: keys if shapes is None else list(zip(keys, shapes, strict=True))
    if theories_of(t.op) & BAG:
        return parts, lambda keys: ("op", t.op, _joined(known(keys), t.op.laws))
    if t.op.laws.commutative:
        return parts, lambda keys: ("op", t.op, frozenset(Counter(known(keys)).items()))
    return parts, lambda keys: ("op", t.op, *known(keys))


def _shape(t: Any) -> Any:
    return bare(t.type.shape) if isinstance(t.type, ArrayType) else t.type


def _joined(keys: list[Any], laws: Any) -> Any:
    if not laws.commutative:
        return tuple(keys)
    return frozenset(keys) if laws.idempotent else frozenset(Counter(keys).items())
