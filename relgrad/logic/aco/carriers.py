"""How a term is written: a tuple, a list, an etuple, one of our terms, or whatever `kanren.term` takes apart.

Terms of different carriers are never equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from cons.core import ConsError, ConsPair

# They are public in kanren, though not listed in an `__all__`.
from kanren.term import arguments as _arguments  # pyright: ignore[reportPrivateImportUsage]
from kanren.term import operator as _operator  # pyright: ignore[reportPrivateImportUsage]
from kanren.term import term as _term  # pyright: ignore[reportPrivateImportUsage]
from unification.core import _reify, isground

from relgrad.op import Op
from relgrad.term import ExpressionTuple, Term, term

# multipledispatch's dispatchers, which their stubs show as plain functions.
_rator: Any = _operator
_rands: Any = _arguments
_apply: Any = _term


class Improper(Exception):
    """(a . x) → Improper: variables where no carrier looks: in a `cons` with an unknown tail, a dictionary or a set."""


class Carrier:
    """TUPLE: ("f", x) ⟷ "f", x: a way to take a term apart into its rator and rands, and to put it together again."""

    keeps = True
    """Whether the parts live as long as the term."""

    def __init__(self, name: str, kind: Any):
        self.name, self.kind = name, kind

    def parts(self, x: Any) -> Sequence[Any]:
        """("f", x) → "f", x: the rator and the rands in one sequence."""
        return x

    def write(self, parts: list[Any], associative: bool, ground: bool) -> Any:
        """["f", x] → ("f", x): the term of a rator and its rands; `ground` says that no variable is inside."""
        return self.kind(parts)

    def __repr__(self) -> str:
        return self.name


class GroundTuple(tuple[Any, ...]):
    """("f", 1): a plain tuple without variables, which reification need not walk."""

    __slots__ = ()


class GroundExpression(ExpressionTuple):
    """f(1): an etuple without variables, which reification need not walk; whoever builds on it gets a plain etuple."""

    __slots__ = ()

    def __add__(self, x: Any) -> Any:
        return ExpressionTuple(self._tuple) + x

    def __radd__(self, x: Any) -> Any:
        return ExpressionTuple(x + self._tuple)

    def __mul__(self, *args: Any) -> Any:
        return ExpressionTuple(self._tuple) * args[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return ExpressionTuple, (self._tuple,)


class _Tuple(Carrier):
    def write(self, parts: list[Any], associative: bool, ground: bool) -> Any:
        return GroundTuple(parts) if ground else tuple(parts)


class _Expression(Carrier):
    def parts(self, x: Any) -> Sequence[Any]:
        return x._tuple

    def write(self, parts: list[Any], associative: bool, ground: bool) -> Any:
        return GroundExpression(parts) if ground else ExpressionTuple(parts)


class _Term(Carrier):
    def parts(self, x: Any) -> Sequence[Any]:
        return x._tuple

    def write(self, parts: list[Any], associative: bool, ground: bool) -> Any:
        op, *rands = parts
        if not ground:  # then there are no types that make_node could look at
            return (
                reduce(lambda x, y: term(op, x, y), rands)
                if associative and len(rands) > 2
                else term(op, *rands)
            )
        if not associative or len(rands) < 3:
            return op.make_node(*rands)
        total = op.make_node(*rands[:2])
        for rand in rands[2:]:
            # One more operand of the same kind: the types need not be inferred again.
            total = op.with_rands(total, (total, rand)) if total.op is op else op.make_node(total, rand)
        return total


class _Op(Carrier):
    """Sum(axis) → (Sum, axis): an op whose props hold variables, written as its class applied to them."""

    def parts(self, x: Any) -> Sequence[Any]:
        return (type(x), *x._props())

    def write(self, parts: list[Any], associative: bool, ground: bool) -> Any:
        return parts[0](*parts[1:])


class _Object(Carrier):
    """an object ⟷ its rator and rands: registered with `kanren.term.operator` and `arguments`."""

    keeps = False

    def parts(self, x: Any) -> Sequence[Any]:
        return (_rator(x), *_rands(x))

    def write(self, parts: list[Any], associative: bool, ground: bool) -> Any:
        return _apply(parts[0], tuple(parts[1:]))


TUPLE = _Tuple("tuple", tuple)
LIST = Carrier("list", list)
ETUPLE = _Expression("etuple", ExpressionTuple)
TERM = _Term("term", Term)
OP = _Op("op", Op)

ATOMS = frozenset([str, int, float, complex, bool, bytes, type(None), type])
"""The types of what is no term, known without looking further."""

_reify_dispatch: Any = _reify
_reify_dispatch.add((GroundTuple, Mapping), lambda x, s: x)
_reify_dispatch.add((GroundExpression, Mapping), lambda x, s: x)

_objects: dict[type, Carrier] = {}


def carrier_of(x: Any) -> Carrier | None:
    """("f", x) → TUPLE, 1.5 → None: the way in which a term is written; raises Improper."""
    kind = type(x)
    if kind is tuple or kind is GroundTuple:
        return TUPLE if x else None
    if kind is Term:
        return TERM if len(x._tuple) > 1 or not x.ground else None
    if kind in ATOMS:
        return None
    if isinstance(x, ExpressionTuple):
        return ETUPLE if x._tuple else None
    if kind is list:
        return LIST if x else None
    if isinstance(x, tuple):
        return TUPLE if x else None
    if isinstance(x, Op):
        return None if x.ground else OP
    if issubclass(kind, ConsPair) or (
        _reify_dispatch.dispatch(kind, dict) is not _reify_dispatch.dispatch(object, dict)
        and not isground(x, {})
    ):
        raise Improper
    if _rator.dispatch(kind) is _rator.dispatch(object):
        return None
    return _of_object(x, kind)


def _of_object(x: Any, kind: type) -> Carrier | None:
    try:
        _rator(x)
        _rands(x)
    except (ConsError, NotImplementedError):
        return None
    found = _objects.get(kind)
    if found is None:
        found = _objects[kind] = _Object(kind.__name__, kind)
    return found


class Opaque:
    """an array → Opaque(array): an atom without a hash, compared by identity, or by `==` if that says so."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not Opaque:
            return False
        if self.value is other.value:
            return True
        try:
            return bool(self.value == other.value)
        except Exception:  # whatever a foreign `==` raises, as that of arrays does
            return False

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return repr(self.value)


def atom(x: Any) -> Any:
    """ "a" → "a", {} → Opaque({}): x, wrapped where it cannot be hashed."""
    try:
        hash(x)
    except Exception:  # whatever a foreign `__hash__` raises
        return Opaque(x)
    return x
