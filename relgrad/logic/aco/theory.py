"""Which laws hold of which head: what an op declares, what facts say, what the caller says; what dtypes ask."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from relgrad.contract import Laws
from relgrad.errors import LawError
from relgrad.logic.laws import associative, commutative, idempotent, identity
from relgrad.op import Constant, constant
from relgrad.term import Term


@lru_cache(maxsize=256)
def unit_of_op(identity: float) -> Term:
    """0.0 → 0, −inf → −inf: the bare number that an op's identity is written as: an integer where it can be one.

    Bare numbers have no shape and give way to their partners' dtype.
    """
    whole = math.isfinite(identity) and float(identity).is_integer()
    return constant(int(identity) if whole else float(identity))


def is_number(x: Any, value: Any) -> bool:
    """constant 1.0, 1 → True: a scalar constant of this value; an array of ones has its own shape."""
    return type(x) is Term and type(x.op) is Constant and x.op.value.shape == () and x.op.value == value


def is_neutral(op: Any, unit: Any, others: Iterable[Any]) -> bool:
    """add, 0, [x : float64] → True, add, 0.0, [i : int64] → False: whether a unit, a scalar constant, may be left out
    beside the other operands of an op, or be added.

    dtype: with some operand it must leave the dtype alone: 0.0 + i is no integer, max(-inf, i) neither, b + 0 no
    longer boolean. Shape: units are scalars, which stretch to any shape. Signed zero: -0.0 + 0 is 0, so 0 stays
    beside a constant -0.0. Infinity: the limits that are declared as identities hold for infinite operands too.
    Operands that are not known don't object.
    """
    known = [x for x in others if type(x) is Term and x.ground]
    if not known:
        return True
    if unit.op.value == 0 and not np.signbit(unit.op.value) and any(map(_is_negative_zero, known)):
        return False
    return any(_keeps_dtype(op, unit, x) for x in known)


def _is_negative_zero(x: Term) -> bool:
    return (
        type(x.op) is Constant
        and x.op.value.dtype.kind == "f"
        and bool(np.any((x.op.value == 0) & np.signbit(x.op.value)))
    )


def _keeps_dtype(op: Any, unit: Term, x: Term) -> bool:
    dtype = getattr(x.type, "dtype", None)
    try:
        return dtype is not None and op.type_of((x, unit)).dtype == dtype
    except Exception:  # an op may refuse operands in any way; then there is no such application
        return False


def stays_grouped(t: Term) -> bool:
    """(b + c) + x, b and c booleans → True: whether an operand is an application of the same op to other machine
    numbers than those of the result.

    b + c of two booleans is their disjunction and i + j of two bytes wraps, so (b + c) + x is not b + (c + x).
    """
    if not t.ground:
        return False
    for rand in t.rands:
        if type(rand) is Term and rand.op is t.op and rand.type is not t.type:
            dtype = getattr(rand.type, "dtype", None)
            if dtype is not None and dtype.kind in "biu" and dtype != getattr(t.type, "dtype", None):
                return True
    return False


RELATIONS = (associative, commutative, idempotent, identity)
LAWLESS = Laws()


class Theory:
    """Which laws terms are compared modulo.

    Of a head hold the laws that `laws` gives for it; else those that the head declares itself (`head.laws`, unless
    not `declared`) with those that are stated of it as facts of `associative`, `commutative`, `idempotent` and
    `identity` (unless not `facts`). Without `identities`, identities and idempotence are ignored.
    Facts are read at the time of use.

    >>> Theory({"union": Laws(associative=True, commutative=True, idempotent=True)}).laws_of("union").idempotent
    True
    """

    def __init__(
        self,
        laws: Mapping[Any, Laws] | None = None,
        identities: bool = True,
        declared: bool = True,
        facts: bool = True,
    ):
        self.laws, self.identities, self.declared, self.facts = dict(laws or {}), identities, declared, facts
        self._current: Reading | None = None

    def laws_of(self, head: Any) -> Laws:
        """add → associative, commutative, identity 0: the laws of a head, as far as this theory honours them; raises
        LawError where it cannot.

        An identity needs a head that joins operands, so it is ignored without associativity and commutativity where
        it might be one-sided. Idempotence of such a head, f(f(x)) = f(x), is no law of joining and is ignored too.
        """
        laws = self._stated(head)
        if not (laws.associative or laws.commutative):
            return LAWLESS
        if not self.identities:
            return replace(laws, idempotent=False, identity=None)
        if laws.idempotent and not (laws.associative and laws.commutative):
            raise LawError(
                f"the laws of {head!r} cannot be matched: idempotent, but not associative and commutative",
                cause="f(x, x) = x is supported for sets, where order and nesting do not matter",
                cure="declare all three, or leave idempotence out",
            )
        return laws

    def _stated(self, head: Any) -> Laws:
        try:
            hash(head)
        except TypeError:
            return LAWLESS
        if head in self.laws:
            return self.laws[head]
        own = getattr(head, "laws", None) if self.declared else None
        laws = own if isinstance(own, Laws) else LAWLESS
        if not self.facts:
            return laws
        units = [fact[1] for fact in identity.index.get((0, head), ()) if len(fact) == 2]
        if len(units) > 1 and any(unit != units[0] for unit in units):
            raise LawError(
                f"{head!r} has several identities: {', '.join(sorted(map(repr, units)))}",
                cause="two identities are equal: e = f(e, d) = d",
                cure="state one fact(identity, head, e)",
            )
        return replace(
            laws,
            associative=laws.associative or (head,) in associative.facts,
            commutative=laws.commutative or (head,) in commutative.facts,
            idempotent=laws.idempotent or (head,) in idempotent.facts,
            identity=units[0] if units else laws.identity,
        )

    def reading(self) -> Reading:
        """theory → Reading: the present reading: the same one until a fact changes."""
        current = self._current
        if current is None or not current.is_valid():
            current = self._current = Reading(self)
        return current


class Reading:
    """DECLARED, {add: +, …}: a theory as it is at one time, and the symbols under which terms have been read in it.

    Nodes of one reading are equal exactly when they are one object; nodes of different readings don't mix.
    """

    __slots__ = ("_facts", "_laws", "is_lasting", "symbols", "theory")

    def __init__(self, theory: Theory, like: Reading | None = None):
        self.theory, self.is_lasting = theory, like is None
        self.symbols: dict[Any, Any] = {}
        self._facts = like._facts if like else tuple(frozenset(relation.facts) for relation in RELATIONS)
        self._laws: dict[Any, Laws] = like._laws if like else {}

    def is_valid(self) -> bool:
        """a fact was added → False: whether the facts are still those that were read."""
        return not self.theory.facts or all(
            relation.facts == facts for relation, facts in zip(RELATIONS, self._facts, strict=True)
        )

    def is_like(self, other: Reading) -> bool:
        """DECLARED, DECLARED → True: whether another reading knows the same laws."""
        return self._laws is other._laws

    def fresh(self) -> Reading:
        """→ the same laws without any symbols: a reading whose nodes are ordered as its own terms are."""
        return Reading(self.theory, self)

    def laws_of(self, head: Any) -> Laws:
        """add → associative, commutative, identity 0: the laws of a head in this reading."""
        try:
            return self._laws[head]
        except KeyError:
            laws = self._laws[head] = self.theory.laws_of(head)
            return laws
        except TypeError:
            return LAWLESS


DECLARED = Theory()
"""Every law that is declared or stated as a fact."""

AC = Theory(identities=False)
"""Associativity and commutativity only."""

FREE = Theory(declared=False, facts=False)
"""No laws: syntactic equality."""
