"""Which terms depend on which, entry by entry, and how deep each lies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relgrad.op import Op, is_constant
from relgrad.ops.gather import ARRAY, Scatter
from relgrad.ops.joining import Concatenate
from relgrad.ops.structure import BroadcastLike, BroadcastTo
from relgrad.term import Term, kept, subterms
from relgrad.types import ArrayType


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


def mixed(node: Term, i: int) -> tuple[int, ...] | None:
    """softmax over (−1,) → (−1,), x + y → (): along which axes of an operand entries reach others; None is all."""
    axes = () if node.op.elementwise else node.op.mixes(node, i)
    return None if axes is None else tuple([a for a in axes if -a <= node.rands[i].type.ndim])


def labels_of(roots: Sequence[Term], labels: Mapping[Term, Any]) -> list[Any] | None:
    """x/Σ x over −1, {x: [[1, 1], [2, 2]]}  ⟶  [[1, 1], [2, 2]];    xᵀ  ⟶  [[1, 2], [1, 2]];    Σ x  ⟶  None

    The label of the entries of sources that each entry of the roots depends on, 0 being none; None where some term has
    entries that depend on several labels.
    """
    of = dict(labels)
    for node in subterms(*roots):
        if node not in of and any(rand in of for rand in node.rands):
            found = _labels(node, [of.get(rand) for rand in node.rands])
            if found is None:
                return None
            of[node] = found
    return [of.get(root, np.zeros(root.type.shape, int)) for root in roots]


def _labels(node: Term, rands: Sequence[Any]) -> Any | None:
    """f(x, y), [1, 2], [0, 2]  ⟶  [1, 2]: the labels of an application's entries, by those of its operands."""
    op = node.op
    if not isinstance(node.type, ArrayType):
        return None
    if type(op) is Concatenate:
        return op.compute(
            *[np.zeros(t.type.shape, int) if x is None else x for t, x in zip(node.rands, rands, strict=True)]
        )
    if op.laws.selects or type(op) in (BroadcastTo, BroadcastLike) or _puts(op):
        others = _places(node)
        if rands[0] is not None and others is not None:
            return np.asarray(op.compute(rands[0], *others))
    shape: Any = node.type.shape
    every = [np.zeros(shape, int)]
    for i, x in enumerate(rands):
        if x is not None:
            reaching = _reaching(node, i, x)
            if reaching is None or reaching.ndim > len(shape):
                return None
            every.append(np.broadcast_to(reaching, shape))
    found = np.max(every, axis=0)
    return found if all(np.all((x == 0) | (x == found)) for x in every) else None


def _puts(op: Op) -> bool:
    return type(op) is Scatter and ARRAY not in op.pattern


def _places(node: Term) -> list[Any] | None:
    """broadcast(y, like x) → [zeros of x's shape];    x[i], i = 2 → [2]: what an op that moves entries is told besides.

    None where that is known when the program runs.
    """
    pattern = node.op.connection_pattern(node)
    found = []
    for t, row in zip(node.rands[1:], pattern[1:], strict=True):
        if not is_constant(t) and (any(row) or t.type.dtype.kind != "f"):
            return None
        found.append(t.op.value if is_constant(t) else np.zeros(t.type.shape))
    return found


def _reaching(node: Term, i: int, labels: Any) -> Any | None:
    """Σ x over −1, [[1, 1], [2, 2]]  ⟶  [[1], [2]]: the labels of an operand's entries where they reach the result."""
    axes = mixed(node, i)
    found = np.max(labels, axis=axes, keepdims=axes is not None, initial=0)
    return found if np.all((labels == 0) | (labels == found)) else None


def _depth(t: Term) -> int:
    """sin(x) + x → 3: the longest path to a leaf, kept on the term."""
    return kept(t, "depth", lambda v: 1 + max([x.cache["depth"] for x in v.rands], default=0))
