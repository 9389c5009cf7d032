"""Replacing bound variables in normal forms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from relgrad.logic.aco.node import Node, bag, is_ground, make


class Cyclic(Exception):
    """A variable is bound to a term that holds it: no finite term is its value."""


def instantiate(child: Any, s: Mapping[Any, Any]) -> Any:
    """Return the normal form of a child with its bound variables replaced, all the way down; raises Cyclic."""
    if not s or is_ground(child):
        return child
    done: dict[Any, Any] = {}
    opened: set[Any] = set()
    stack = [child]
    while stack:
        x = stack[-1]
        if x in done or is_ground(x):
            stack.pop()
            continue
        below = _below(x, s)
        missing = [y for y in below if y not in done and not is_ground(y)]
        if missing:
            if x in opened:
                raise Cyclic
            opened.add(x)
            stack.extend(missing)
            continue
        stack.pop()
        new = [done.get(y, y) for y in below]
        done[x] = _rebuilt(x, new) if type(x) is Node else new[0] if new else x
    return done[child]


def _below(x: Any, s: Mapping[Any, Any]) -> Collection[Any]:
    if type(x) is Node:
        return x.parts if x.symbol.commutative else x.args
    return (s[x],) if x in s else ()


def _rebuilt(x: Node, new: list[Any]) -> Any:
    old = x.parts if x.symbol.commutative else x.args
    if all(a is b for a, b in zip(old, new, strict=True)):
        return x
    if not x.symbol.commutative:
        return make(x.symbol, new)
    counts: dict[Any, int] = {}
    for y, n in zip(new, x.parts.values(), strict=True):
        counts[y] = counts.get(y, 0) + n
    return bag(x.symbol, counts)
