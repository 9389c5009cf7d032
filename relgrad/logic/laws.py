"""The laws of ops as relations: read off an op where it is known, enumerated where it is not.

What an op declares in `op.laws` holds; so does what is stated as a fact, of any head: `fact(identity, "plus", 0)`.
The facts of `associative` and `commutative` are those of `kanren.assoccomm`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from operator import is_
from pkgutil import iter_modules
from typing import Any

from kanren import assoccomm
from kanren.facts import Relation as Facts
from unification import unify

from relgrad import ops
from relgrad.contract import Laws
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.logic.conditions import Goal
from relgrad.logic.unify import State, fresh, is_variable, walk
from relgrad.op import Op

Row = tuple[Any, ...]


class Law(Facts):
    """associative(add) → holds, associative(subtract) → fails: a law as a relation of an op to what the law says of it.

    `kanren.fact` states it of a head.
    """

    def __init__(self, name: str, read: Callable[[Laws], Iterable[Row]], facts: Facts | None = None):
        super().__init__(name)
        self._read = read
        if facts is not None:
            self.facts, self.index = facts.facts, facts.index

    # What it overrides is not annotated, but for the names of what it returns.
    def __call__(self, *args: Any) -> Goal:  # pyright: ignore[reportIncompatibleMethodOverride]
        """identity(add, v) → v = 0: construct a goal stating that the law holds of an op, with what it says;
        each answer once.

        A NumPy function stands for the op that it is traced to.
        """

        def law_goal(s: State) -> Iterator[State]:
            """s → s with the arguments unified with a row of the law, for each row."""
            known = tuple([walk(x, s) for x in args])
            ops = tuple(map(_op_of, known))
            for form in [ops] if all(map(is_, ops, known)) else [ops, known]:
                for row in dict.fromkeys(self._rows(form[0])):
                    state: Any = unify(row, form, s) if len(row) == len(form) else False
                    if state is not False:
                        yield state

        return law_goal

    def stated(self, head: Any) -> list[Row]:
        """fact(identity, "plus", 0) → stated("plus") = [("plus", 0)]:
        the facts of a head, which stands first in each.
        """
        try:
            return sorted(self.index.get((0, head), ()), key=repr)
        except TypeError:  # what cannot be hashed has no facts
            return []

    def declared(self, op: Op) -> list[Row]:
        """Return what an op declares itself, in the form of facts."""
        return [(op, *rest) for rest in self._read(op.laws)]

    def _rows(self, head: Any) -> Iterator[Row]:
        """add → the rows declared and stated of add;    v → those of all ops."""
        if is_variable(head):
            for op in known_ops():
                yield from self.declared(op)
            yield from sorted(self.facts, key=repr)
        else:
            if isinstance(head, Op):
                yield from self.declared(head)
                yield from self._of_class(head)
            yield from self.stated(head)

    def _of_class(self, op: Op) -> Iterator[Row]:
        """Sum((−1,)) → rows of Sum(a): the facts stated of an op whose parameters are logic variables, where this op is
        one.
        """
        if op.__props__:
            yield from [
                row for row in sorted(self.facts, key=repr) if type(row[0]) is type(op) and row[0] != op
            ]

    def __repr__(self) -> str:
        return f"<law {self.name}>"

    __str__ = __repr__


@cache
def known_ops() -> tuple[Op, ...]:
    """→ (add, sin, Sum(axes), …): the ops of `relgrad.ops`; one with parameters has logic variables for them."""
    found: dict[Op, None] = {}
    for info in iter_modules(ops.__path__):
        module = import_module(f"{ops.__name__}.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, Op):
                found[value] = None
            elif _is_class(value, module.__name__) and not name.startswith("_"):
                op = _pattern_of(value)
                if op is not None:
                    found[op] = None
    return tuple(found)


def _is_class(x: Any, module: str) -> bool:
    return isinstance(x, type) and issubclass(x, Op) and x.__module__ == module and x.__props__ is not None


def _pattern_of(kind: Any) -> Op | None:
    """Sum → Sum(axes) with a logic variable for axes: the op of a class; None where parameters must be known."""
    try:
        return kind(*[fresh(prop) for prop in kind.__props__])
    except (TypeError, AttributeError):
        return None


@cache
def _named() -> dict[str, Op]:
    return {op.name: op for op in known_ops()}


def op_named(name: str) -> Any:
    """Return the known op of a name, or the name itself where there is none."""
    return _named().get(name, name)


def _op_of(x: Any) -> Any:
    """Return the op that a NumPy function is traced to; anything else is what it is."""
    op = IMPLEMENTATIONS.get(x) if callable(x) else None
    return op if isinstance(op, Op) else x


def _if(holds: bool, *values: Any) -> list[Row]:
    return [values] if holds else []


associative = Law("associative", lambda laws: _if(laws.associative), assoccomm.associative)
"""`associative(op)`: op(op(x, y), z) = op(x, op(y, z))."""

commutative = Law("commutative", lambda laws: _if(laws.commutative), assoccomm.commutative)
"""`commutative(op)`: op(x, y) = op(y, x)."""

idempotent = Law("idempotent", lambda laws: _if(laws.idempotent))
"""`idempotent(op)`: op(x, x) = x for two operands, op(op(x)) = op(x) for one."""

identity = Law("identity", lambda laws: _if(laws.identity is not None, laws.identity))
"""`identity(op, e)`: op(x, e) = op(e, x) = x."""

absorbing = Law("absorbing", lambda laws: _if(laws.absorbing is not None, laws.absorbing))
"""`absorbing(op, e)`: op(x, e) = op(e, x) = e."""

linear = Law("linear", lambda laws: [(i,) for i in laws.linear])
"""`linear(op, i)`: op(…, a·x + b·y, …) = a·op(…, x, …) + b·op(…, y, …) in operand i, for numbers a and b."""

inverse = Law("inverse", lambda laws: _if(laws.inverse is not None, op_named(laws.inverse or "")))
"""`inverse(f, g)`: g(f(x)) = x wherever f is defined."""

homomorphism = Law("homomorphism", lambda laws: [tuple(map(op_named, x)) for x in [laws.homomorphism] if x])
"""`homomorphism(f, op, other)`: f(op(x, y)) = other(f(x), f(y))."""

monotone = Law("monotone", lambda laws: _if(laws.monotone != 0, laws.monotone))
"""`monotone(f, sign)`: f increases (sign 1) or decreases (sign -1)."""
