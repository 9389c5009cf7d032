"""Sub-multisets, each once, lazily, the small ones first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any


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
    """Yield the ways to take `size` in all, at most so many at each position, as (position, how many)."""
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
