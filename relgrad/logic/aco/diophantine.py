"""Linear homogeneous Diophantine equations: their minimal non-negative solutions.

Source: Clausen & Fortenbacher (1989), "Efficient solution of linear Diophantine equations", J. Symbolic Computation
8, section 2: walks that keep the partial sum between the largest coefficients of the two sides. Changed from the
source: columns of one class are searched as one column and told apart afterwards, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import Any

Vector = dict[int, int]
"""A solution: the columns that are not zero, with their values."""


def basis(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the Hilbert basis of Σ aᵢ·xᵢ = Σ bⱼ·yⱼ: every solution in ℕ is a sum of these, none of these of others.

    A solution is the tuple (x₁, …, y₁, …); smaller ones come first.

    >>> basis([2], [1, 1])
    [(1, 0, 2), (1, 1, 1), (1, 2, 0)]
    """
    weights = [*a, *(-c for c in b)]
    vectors = solutions(weights, [(w, True) for w in weights])
    return sorted(
        (tuple(v.get(c, 0) for c in range(len(weights))) for v in vectors), key=lambda v: (sum(v), v)
    )


def count_unifiers(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many minimal unifiers modulo AC Σ aᵢ·xᵢ = Σ bⱼ·yⱼ has, distinct unknowns, enumerating none.

    They are the subsets of the basis in which every unknown has a value other than zero. Source: Stickel (1981),
    "A unification algorithm for associative-commutative functions", J. ACM 28, section 3.

    >>> [count_unifiers([1] * n, [1] * n) for n in range(1, 6)]
    [1, 7, 265, 41503, 24997921]
    """
    counts = {0: 1}
    for vector in basis(a, b):
        mask = sum(1 << c for c, value in enumerate(vector) if value)
        for covered, count in list(counts.items()):
            counts[covered | mask] = counts.get(covered | mask, 0) + count
    return counts.get((1 << (len(a) + len(b))) - 1, 0)


def solutions(
    weights: Sequence[int],
    classes: Sequence[tuple[Hashable, bool]],
    allowed: Callable[[dict[Any, int]], bool] = lambda _: True,
) -> Iterator[Vector]:
    """2x − y − z = 0 → (1, 2, 0), (1, 1, 1), (1, 0, 2): the minimal solutions of Σ wᵢ·vᵢ = 0 in ℕ other than zero.

    Each column has a class, `(key, repeats)`: columns of one class have one weight; without `repeats` a column's
    value is at most 1. `allowed` judges the number of times that each class is used; what it rejects, it must also
    reject when more is used.
    """
    columns: dict[tuple[Hashable, bool], list[int]] = {}
    for column, kind in enumerate(classes):
        columns.setdefault(kind, []).append(column)
    kinds = list(columns)

    def fits(vector: tuple[int, ...]) -> bool:
        used = {kind: count for kind, count in zip(kinds, vector, strict=True) if count}
        return allowed(used) and all(
            repeats or count <= len(columns[key, repeats]) for (key, repeats), count in used.items()
        )

    for vector in _minimal([weights[columns[kind][0]] for kind in kinds], fits):
        choices = [
            (combinations_with_replacement if kind[1] else combinations)(columns[kind], count)
            for kind, count in zip(kinds, vector, strict=True)
            if count
        ]
        for choice in product(*choices):
            found: Vector = {}
            for columns_of_kind in choice:
                for column in columns_of_kind:
                    found[column] = found.get(column, 0) + 1
            yield found


def _minimal(weights: Sequence[int], fits: Callable[[tuple[int, ...]], bool]) -> Iterator[tuple[int, ...]]:
    """(1, −1) → (1, 1): the minimal solutions that fit, smaller ones first.

    A walk adds a column of the sign that brings the sum back to zero, columns of one sign in order: one walk for
    each solution. A sum that comes twice encloses a smaller solution, so that the walk is given up.
    """
    size = len(weights)
    unit = [tuple(int(c == k) for c in range(size)) for k in range(size)]
    signs = {
        True: [k for k in range(size) if weights[k] < 0],
        False: [k for k in range(size) if weights[k] > 0],
    }
    yield from (unit[k] for k in range(size) if not weights[k] and fits(unit[k]))
    found: list[tuple[int, ...]] = []
    # A walk: the vector, its sum, the sums so far, and for each sign the columns that may still be added.
    walks = [((0,) * size, 0, frozenset[int](), signs)]
    while walks:
        longer, new = [], []
        for vector, total, sums, open_columns in walks:
            back = total > 0
            for place, k in enumerate(open_columns[back]):
                more = total + weights[k]
                if more in sums:
                    continue
                grown = (*vector[:k], vector[k] + 1, *vector[k + 1 :])
                if not fits(grown):
                    continue
                if more:
                    rest = {back: open_columns[back][place:], not back: open_columns[not back]}
                    longer.append((grown, more, sums | {more}, rest))
                elif not any(all(map(int.__ge__, grown, other)) for other in found):
                    new.append(grown)
        yield from new
        found.extend(new)
        walks = longer
