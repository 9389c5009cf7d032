"""Which terms depend on which, and how deep each lies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from relgrad.term import Term, kept, subterms


def depths(roots: Sequence[Term]) -> dict[Term, int]:
    """sin(x) + x → {x: 1, sin(x): 2, sin(x) + x: 3}: the longest path from each term below the roots to a leaf."""
    return {node: _depth(node) for node in subterms(*roots)}


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


def depends(roots: Iterable[Term], sources: Collection[Term]) -> bool:
    """([sin(x) + y], [x]) → True: whether entries of any root depend on those of a source.

    The shallowest roots first, and nothing as shallow as the sources: in a loop of many rounds, one is looked at.
    """
    lowest = min([_depth(t) for t in sources], default=0)
    seen = set[Term]()
    for root in sorted(roots, key=_depth):
        stack = [root]
        while stack:
            node = stack.pop()
            if node in sources:
                return True
            if node not in seen and _depth(node) > lowest:
                seen.add(node)
                pattern = node.op.connection_pattern(node)
                stack += [rand for rand, row in zip(node.rands, pattern, strict=True) if any(row)]
    return False


def _depth(t: Term) -> int:
    """sin(x) + x → 3: the longest path to a leaf, kept on the term."""
    return kept(t, "depth", lambda v: 1 + max([x.cache["depth"] for x in v.rands], default=0))
