"""Reading the two sides of an equation under a state of kanren."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relgrad.logic.aco.carriers import ETUPLE, OP, TERM, TUPLE, carrier_of
from relgrad.logic.aco.instantiate import instantiate
from relgrad.logic.aco.node import Node, is_ground, variables_in
from relgrad.logic.aco.normal import normal
from relgrad.logic.aco.theory import Reading
from relgrad.term import is_term

KEPT = 64
"""How many ground tuples and etuples are remembered with their normal forms."""

_remembered: dict[int, tuple[Any, Reading, Any]] = {}


class Reader:
    """Reads two sides in one reading: the lasting one if they are terms, else one whose nodes are ordered as they are.

    The normal form of a ground tuple is remembered with its reading, so that matching it again costs nothing.
    """

    def __init__(self, reading: Reading, x: Any, y: Any):
        self.sides = x, y
        self.known: dict[int, Any] = {}
        if not (is_term(x) or is_term(y)):
            reading = self._remembered(reading) or reading.fresh()
        self.reading = reading

    def _remembered(self, reading: Reading) -> Reading | None:
        for side in self.sides:
            found = _remembered.get(id(side))
            if found is not None and found[0] is side and found[1].is_like(reading):
                self.known[id(side)] = found[2]
                return found[1]
        return None

    def read(self, s: Mapping[Any, Any]) -> tuple[Any, Any]:
        """Return the normal forms of both sides under a state; raises Cyclic and Improper."""
        x, y = [self._child(side) for side in self.sides]
        bound = self._bound(s, x, y)
        return instantiate(x, bound), instantiate(y, bound)

    def _child(self, x: Any) -> Any:
        child = self.known.get(id(x))
        if child is not None:
            return child
        child = normal(x, self.reading)
        if type(child) is Node and child.ground and carrier_of(x) in (TUPLE, ETUPLE) and self._lasts():
            while len(_remembered) >= KEPT:
                del _remembered[next(iter(_remembered))]
            _remembered[id(x)] = x, self.reading, child
        return child

    def _lasts(self) -> bool:
        """Whether nothing has been read that may be changed later, as a list may."""
        return all(symbol.carrier in (TUPLE, ETUPLE, TERM, OP) for symbol in self.reading.symbols.values())

    def _bound(self, s: Mapping[Any, Any], *children: Any) -> dict[Any, Any]:
        """Return what the variables inside children are bound to, and the variables inside that, as far as they are."""
        bound: dict[Any, Any] = {}
        if not s or all(map(is_ground, children)):
            return bound
        stack = list(variables_in(*children))
        while stack:
            variable = stack.pop()
            if variable in s and variable not in bound:
                value = bound[variable] = normal(s[variable], self.reading)
                stack.extend(variables_in(value))
        return bound
