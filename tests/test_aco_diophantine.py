"""Linear Diophantine equations: bases against brute force, and the counts of unifiers that follow from them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relgrad.logic.aco.diophantine import basis, count_unifiers, solutions
from relgrad.logic.aco.selections import selections, subsets

coefficients = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def brute_basis(a, b):
    """Of all solutions below the bounds of Huet (1978), those that have no other below them."""
    ranges = [range(max(b) + 1)] * len(a) + [range(max(a) + 1)] * len(b)
    weights = [*a, *(-n for n in b)]
    found = [
        v for v in product(*ranges) if any(v) and sum(w * n for w, n in zip(weights, v, strict=True)) == 0
    ]
    return {v for v in found if not any(w != v and all(map(int.__le__, w, v)) for w in found)}


@given(coefficients, coefficients)
def test_the_basis_is_all_minimal_solutions(a, b):
    found = basis(a, b)
    assert len(set(found)) == len(found)
    assert set(found) == brute_basis(a, b)


@pytest.mark.parametrize(
    "a, b, count", [([1] * 3, [1] * 3, 9), ([1] * 30, [1] * 30, 900), ([2, 2], [1, 1], 6)]
)
def test_repeated_coefficients(a, b, count):
    assert len(basis(a, b)) == count


def test_large_coefficients():
    assert basis([653], [235]) == [(235, 653)]
    assert basis([6], [4]) == [(2, 3)]
    assert (0, 1, 10, 0) in basis([11, 10], [1, 13])


def test_a_column_without_weight_is_a_solution_by_itself():
    assert basis([0, 1], [1]) == [(1, 0, 0), (0, 1, 1)]


def test_without_partners_there_are_no_solutions():
    assert basis([1, 2], []) == []
    assert basis([], []) == []


@pytest.mark.parametrize("n, count", [(1, 1), (2, 7), (3, 265), (4, 41_503), (5, 24_997_921)])
def test_counts_of_minimal_unifiers(n, count):
    # Baader & Snyder, "Unification theory", section 3.3, and Domenjoud (1992) for n variables a side.
    assert count_unifiers([1] * n, [1] * n) == count


def test_columns_used_once_and_classes_that_exclude_each_other():
    # x + a + b = y + c, where a, b and c are used once and no two of them together.
    classes = [("x", True), ("a", False), ("b", False), ("y", True), ("c", False)]

    def one_constant(used):
        return sum(n for (_, repeats), n in used.items() if not repeats) <= 1

    found = list(solutions([1, 1, 1, -1, -1], classes, one_constant))
    assert sorted(map(sorted, found)) == [[0, 3], [0, 4], [1, 3], [2, 3]]
    assert all(n == 1 for vector in found for n in vector.values())


@st.composite
def covering_problems(draw):
    columns = draw(st.integers(1, 4))
    vectors = draw(st.lists(st.frozensets(st.integers(0, columns - 1), min_size=1), max_size=6, unique=True))
    return columns, [sorted(v) for v in vectors], draw(st.frozensets(st.integers(0, columns - 1)))


@given(covering_problems())
def test_selections_are_the_admissible_subsets_each_once(problem):
    columns, vectors, once = problem

    def admissible(subset):
        uses = [sum(c in vectors[v] for v in subset) for c in range(columns)]
        return all(uses) and all(uses[c] == 1 for c in once)

    found = [
        tuple(sorted(chosen + more))
        for chosen, optional in selections(vectors, range(columns), once)
        for more in subsets(optional)
    ]
    assert len(found) == len(set(found))
    assert set(found) == set(filter(admissible, map(tuple, subsets(range(len(vectors))))))
