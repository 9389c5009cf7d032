"""The places of a term: its distinct subterms, numbered, operands before what uses them.

Terms are told apart by identity, tuples, lists and etuples by their parts, anything else by type and value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

from relgrad.logic.unify import State, is_variable, reify_term, walk
from relgrad.term import ExpressionTuple, Term, is_term, term


class Graph:
    """A term as numbered nodes; terms that differ from it in one place are added to the same numbering."""

    def __init__(self, root: Any, s: State):
        self.nodes: list[Any] = []
        self.operands: list[tuple[int, ...]] = []
        self._numbers: dict[Hashable, int] = {}
        self.root = self.add(root, s)
        self.size = len(self.nodes)

    def add(self, x: Any, s: State) -> int:
        """Return the number of a term, under a substitution, and number those of its subterms that are new."""
        found: dict[int, int] = {}
        keep = [x]  # numbers are found by identity while they are given
        stack = [_read(x, s)]
        while stack:
            node = stack[-1]
            if id(node) in found:
                stack.pop()
                continue
            number = self._numbers.get(node) if type(node) is Term else None
            if number is None:
                operands = [_read(y, s) for y in operands_of(node)]
                missing = [y for y in operands if id(y) not in found]
                if missing:
                    keep += missing
                    stack.extend(reversed(missing))
                    continue
                number = self._number(node, tuple([found[id(y)] for y in operands]))
            stack.pop()
            found[id(node)] = number
        return found[id(_read(x, s))]

    def _number(self, x: Any, operands: tuple[int, ...]) -> int:
        key = _key(x, operands)
        number = self._numbers.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(x)
            self.operands.append(operands)
        return number

    @cached_property
    def parents(self) -> list[list[int]]:
        """For each place the nodes that use it."""
        parents: list[list[int]] = [[] for _ in range(self.size)]
        for number in range(self.size):
            for operand in dict.fromkeys(self.operands[number]):
                parents[operand].append(number)
        return parents

    def places(self) -> Iterator[int]:
        """Yield the root and then every other node that is no variable, from the left, before its operands."""
        seen = {self.root}
        stack = [self.root]
        while stack:
            number = stack.pop()
            yield number
            for operand in reversed(self.operands[number]):
                if operand not in seen and not is_variable(self.nodes[operand]):
                    seen.add(operand)
                    stack.append(operand)

    def replaced(self, place: int, x: Any, s: State) -> int:
        """Return the number of the term in which x stands at a place, wherever that occurs."""
        new = {place: self.add(x, s)}
        if new[place] == place:
            return self.root
        above = {place}
        stack = [place]
        while stack:
            for parent in self.parents[stack.pop()]:
                if parent not in above:
                    above.add(parent)
                    stack.append(parent)
        for number in sorted(above - {place}):
            new[number] = self.with_operands(number, [new.get(y, y) for y in self.operands[number]], s)
        return new[self.root]

    def with_operands(self, number: int, operands: Sequence[int], s: State) -> int:
        """Return the number of a node with other operands."""
        if tuple(operands) == self.operands[number]:
            return number
        node = _rebuilt(self.nodes[number], [self.nodes[y] for y in operands])
        return self.add(node, s) if type(node) is Term else self._number(node, tuple(operands))

    def variables(self) -> list[Any]:
        """Return the logic variables that stand among the nodes of the term, in patterns too."""
        return [x for x in self.nodes[: self.size] if is_variable(x)]

    def holds(self, number: int, x: Any) -> bool:
        """Whether a variable occurs in a node."""
        target = self._numbers.get(_key(x, ()))
        if target is None:
            return False
        seen, stack = {number}, [number]
        while stack:
            node = stack.pop()
            if node == target:
                return True
            new = [y for y in self.operands[node] if y not in seen]
            seen.update(new)
            stack.extend(new)
        return False


def operands_of(x: Any) -> tuple[Any, ...]:
    """Return the operands of a term, and the arguments of a tuple, list or etuple."""
    if type(x) is Term:
        return x.rands
    return tuple(x)[1:] if isinstance(x, (tuple, list, ExpressionTuple)) else ()


def _read(x: Any, s: State) -> Any:
    x = getattr(x, "term", x) if not isinstance(x, (tuple, list, ExpressionTuple)) else x
    if is_variable(x):
        x = walk(x, s)
    return reify_term(x, s) if type(x) is Term and not x.ground else x


def _key(x: Any, operands: tuple[int, ...]) -> Hashable:
    if type(x) is Term:
        return x
    if isinstance(x, ExpressionTuple) or (isinstance(x, (tuple, list)) and x):
        kind = ExpressionTuple if isinstance(x, ExpressionTuple) else list if isinstance(x, list) else tuple
        return kind, _key(next(iter(x)), ()), operands
    try:
        hash(x)
    except TypeError:
        return "identity", id(x)
    return type(x), x


def _rebuilt(x: Any, operands: list[Any]) -> Any:
    if is_term(x):
        ground = x.op.ground and all(is_term(y) and y.ground for y in operands)
        return x.op.make_node(*operands) if ground else term(x.op, *operands)
    kind = ExpressionTuple if isinstance(x, ExpressionTuple) else list if isinstance(x, list) else tuple
    return kind((next(iter(x)), *operands))
