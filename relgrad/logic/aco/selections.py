"""Choosing vectors of a basis so that the columns that need a value have one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence


def selections(
    vectors: Sequence[Collection[int]], needed: Collection[int], once: Collection[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield `(chosen, optional)`: the chosen vectors cover all needed columns, those in `once` exactly once.

    Any subset of the optional vectors may be added. Each admissible subset is represented exactly once. Columns with
    few vectors are covered first; an earlier vector of a column is out where a later one was chosen for it.
    """
    once = frozenset(once)
    covering: dict[int, list[int]] = {column: [] for column in needed}
    for v, vector in enumerate(vectors):
        for column in vector:
            if column in covering:
                covering[column].append(v)
    order = sorted(needed, key=lambda column: len(covering[column]))
    free = [v for v, vector in enumerate(vectors) if once.isdisjoint(vector)]
    covered: Counter[int] = Counter()
    out: set[int] = set()
    chosen: list[int] = []
    # For each column that was open when it was reached: its place, the candidates left, those tried.
    frames: list[tuple[int, Iterator[int], list[int]]] = []
    place = 0
    while True:
        while place < len(order) and covered[order[place]]:
            place += 1
        if place < len(order):
            frames.append((place, iter(covering[order[place]]), []))
        else:
            taken = {*chosen, *out}
            yield list(chosen), [v for v in free if v not in taken]
        while frames:
            place, candidates, tried = frames[-1]
            if len(chosen) == len(frames):
                covered.subtract(vectors[chosen.pop()])
                out.add(tried[-1])
            following = next((v for v in candidates if _fits(v, vectors, out, covered, once)), None)
            if following is not None:
                chosen.append(following)
                tried.append(following)
                covered.update(vectors[following])
                break
            out.difference_update(tried)
            frames.pop()
        else:
            return


def _fits(
    v: int, vectors: Sequence[Collection[int]], out: set[int], covered: Counter[int], once: frozenset[int]
) -> bool:
    return v not in out and not any(covered[column] for column in vectors[v] if column in once)


def subsets(items: Sequence[int]) -> Iterator[list[int]]:
    """Yield every subset, the empty one first."""
    for number in range(1 << len(items)):
        yield [item for place, item in enumerate(items) if number >> place & 1]
