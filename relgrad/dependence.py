"""Which terms depend on which, and how deep each lies."""

from __future__ import annotations

from collections.abc import Sequence

from relgrad.term import Term, subterms


def depths(roots: Sequence[Term]) -> dict[Term, int]:
    """sin(x) + x → {x: 1, sin(x): 2, sin(x) + x: 3}: the longest path from each term below the roots to a leaf."""
    depth: dict[Term, int] = {}
    for node in subterms(*roots):
        depth[node] = 1 + max((depth[rand] for rand in node.rands), default=0)
    return depth


def dependent(roots: Sequence[Term], sources: Sequence[Term]) -> set[Term]:
    """(sin(x) + y, [x]) → {x, sin(x), sin(x) + y}: the terms below the roots whose entries depend on those of the
    sources.
    """
    found = set(sources)
    for node in subterms(*roots):
        if node in found or not any(rand in found for rand in node.rands):
            continue
        pattern = node.op.connection_pattern(node)
        if any(rand in found and any(row) for rand, row in zip(node.rands, pattern, strict=True)):
            found.add(node)
    return found
