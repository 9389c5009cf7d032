"""Squeezes float to the root of a graph so that relations meet one form; for reading, they sink again.

squeeze(f(sum(x, keepdims), c)) = f(sum(x), c): exact, and the same bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from relgrad.ops.structure import Squeeze, squeeze
from relgrad.term import Term, rebuild, subterms, term

LIMIT = 32
"""No squeeze sinks through more applications than this."""


def sink_squeezes(roots: Sequence[Term]) -> list[Term]:
    """Return the roots with squeezes moved through elementwise ops to reductions, which then drop their axes.

    A squeeze moves only where nothing else uses what it passes, and where it vanishes into reductions.
    """
    roots = list(roots)
    order = list(subterms(*roots))
    if not any(isinstance(node.op, Squeeze) for node in order):
        return roots
    uses = Counter(rand for node in order for rand in node.rands)
    uses.update(roots)

    def change(old: Term, rands: tuple[Any, ...]) -> Any:
        if isinstance(old.op, Squeeze) and uses[old.rands[0]] == 1:
            sunk = _sunk(old.rands[0], old.op.axes, uses)
            if sunk is not None:
                return sunk
        # Nothing is brought back to canonical form: that would let the squeezes float again.
        return old if rands == old.rands else term(old.op, *rands)

    return rebuild(roots, change)


def _sunk(node: Term, axes: tuple[int, ...], uses: Counter[Term]) -> Term | None:
    """Return the squeezed term with the squeeze moved to its reductions, or None where it cannot vanish."""
    plan: list[tuple[Term, tuple[int, ...], bool]] = []
    stack = [node]
    while stack:
        part = stack.pop()
        own = tuple(axis for axis in axes if -axis <= part.type.ndim)
        through = bool(own) and bool(part.op.elementwise) and uses[part] == 1
        plan.append((part, own, through))
        if len(plan) > LIMIT:
            return None
        if through:
            stack += part.rands
        elif own and (
            uses[part] != 1 or getattr(part.op, "axes", None) != own or isinstance(part.op, Squeeze)
        ):
            return None
    done: dict[Term, Term] = {}
    for part, own, through in reversed(plan):
        done[part] = term(part.op, *[done[x] for x in part.rands]) if through else squeeze(part, own)
    return done[node]


def _reduces(node: Term, axes: tuple[int, ...]) -> bool:
    return getattr(node.op, "axes", None) == axes and not isinstance(node.op, Squeeze)
