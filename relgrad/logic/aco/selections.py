"""Choosing: vectors of a basis so that the columns that need a value have one; sub-multisets, small ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any


def selections(
    vectors: Sequence[Collection[int]], needed: Collection[int], once: Collection[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """[{0}, {1}, {0, 1}], needed {0, 1} → ([2], …), ([0, 1], …): `(chosen, optional)`: the chosen vectors cover all
    needed columns, those in `once` exactly once.

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
    """[1, 2] → [], [1], [2], [1, 2]: every subset, the empty one first."""
    for number in range(1 << len(items)):
        yield [item for place, item in enumerate(items) if number >> place & 1]


def shares(available: Sequence[tuple[Any, int]], sizes: Iterable[int]) -> Iterator[dict[Any, int]]:
    """Yield the sub-multisets of given sizes of a multiset, given as distinct elements with their multiplicities.

    >>> list(shares([("a", 2), ("b", 1)], [1, 2]))
    [{'a': 1}, {'b': 1}, {'a': 2}, {'a': 1, 'b': 1}]
    """
    if all(n == 1 for _, n in available):
        elements = [x for x, _ in available]
        for size in sizes:
            if size > len(elements):
                return
            for chosen in combinations(elements, size):
                yield dict.fromkeys(chosen, 1)
        return
    # How much the elements from each position on can hold.
    room = [0]
    for _, n in reversed(available):
        room.append(room[-1] + n)
    room.reverse()
    for size in sizes:
        if size > room[0]:
            return
        for picks in _picks([n for _, n in available], room, size):
            yield {available[i][0]: n for i, n in picks}


def _picks(limits: list[int], room: list[int], size: int) -> Iterator[list[tuple[int, int]]]:
    """limits [1, 2], size 2 → [(0, 1), (1, 1)], [(1, 2)]: `size` in all, as (position, how many)."""
    picks: list[tuple[int, int]] = []
    position, wanted = 0, size
    while True:
        while wanted:
            n = min(limits[position], wanted)
            if n:
                picks.append((position, n))
                wanted -= n
            position += 1
        yield picks
        # Take one less at the last position where the elements behind it can make up for it.
        while True:
            if not picks:
                return
            position, n = picks.pop()
            wanted += n
            if room[position + 1] >= wanted - n + 1:
                if n > 1:
                    picks.append((position, n - 1))
                    wanted -= n - 1
                position += 1
                break
