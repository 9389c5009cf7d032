"""The arguments of a ground node, found by their heads, and by what these heads are applied to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from relgrad.logic.aco.node import Node, Symbol, term_of


class Index:
    """The distinct arguments `parts` of a node (child -> how often) by their symbols and their arguments."""

    def __init__(self, parts: Mapping[Any, int]):
        self.parts = parts
        self.total = sum(parts.values())
        self._by_symbol: dict[Symbol, list[Node]] = {}
        self._by_argument: dict[Symbol, dict[Any, list[Node]]] = {}
        for x in parts:
            if type(x) is Node:
                self._by_symbol.setdefault(x.symbol, []).append(x)

    @cached_property
    def places(self) -> dict[Any, int]:
        """Which of the distinct arguments each is."""
        return {x: i for i, x in enumerate(self.parts)}

    @cached_property
    def written(self) -> list[Any]:
        """The terms of the distinct arguments."""
        return [term_of(x) for x in self.parts]

    def of(self, symbol: Symbol) -> Sequence[Node]:
        """Return the arguments with this symbol."""
        return self._by_symbol.get(symbol, ())

    def having(self, symbol: Symbol, position: int, x: Any) -> Sequence[Node]:
        """Return the arguments with this symbol that have x among their own: at a position, if the symbol is free."""
        found = self._by_argument.get(symbol)
        if found is None:
            found = self._by_argument[symbol] = {}
            for node in self.of(symbol):
                for key in enumerate(node.args) if symbol.free else node.parts:
                    found.setdefault(key, []).append(node)
        return found.get((position, x) if symbol.free else x, ())


def index_of(node: Node) -> Index:
    """Return the index of a node's arguments, made once."""
    if node.index is None:
        node.index = Index(node.parts)
    return node.index
