"""Equations modulo associativity and commutativity, with or without a unit: Stickel's method.

Source: Stickel (1981), "A unification algorithm for associative-commutative functions", J. ACM 28; Herold & Siekmann
(1987), "Unification in Abelian semigroups", J. Automated Reasoning 3; Baader & Snyder (2001), "Unification theory",
section 3.3. Changed from the source: an alien is a column that exactly one vector covers, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unification.variable import Var

from relgrad.logic.aco.collapse import aliens_of, with_collapsed
from relgrad.logic.aco.diophantine import Vector, solutions
from relgrad.logic.aco.equation import Equation, Names, apart
from relgrad.logic.aco.node import Node, Symbol, bag, counted, expanded, is_ground, parts_of
from relgrad.logic.aco.selections import selections, subsets


def solve(equation: Equation, symbol: Symbol) -> Iterator[list[Equation]]:
    """x + a = y + b → [x = b + z, y = a + z], [x = b, y = a]: cases, lists of simpler equations, whose solutions
    together are those of u = v modulo AC or ACU.

    What stands on both sides is cancelled: sums are cancellative.
    """
    left, right = parts_of(equation.left, symbol), parts_of(equation.right, symbol)
    for x in [x for x in left if x in right]:
        common = min(left[x], right[x])
        for parts in (left, right):
            parts[x] -= common
            if not parts[x]:
                del parts[x]
    unit = symbol.admits_unit([*left, *right])
    if not left or not right:
        rest = left or right
        if unit or not rest:
            yield [Equation(x, symbol.unit) for x in rest]
        return
    for one, other in ((left, right), (right, left)):
        ((x, n), *more) = one.items()
        if not more and n == 1 and (type(x) is Var or (len(other) == 1 and 1 in other.values())):
            yield [Equation(x, bag(symbol, dict(other)), equation.rigid)]
            return
    yield from _elementary(left, right, symbol, unit, aliens_of(equation, (*left, *right)))
    sides = list(expanded(left)), list(expanded(right))
    yield from with_collapsed(equation, sides, lambda args: bag(symbol, counted(args)))


def _elementary(
    left: dict[Any, int], right: dict[Any, int], symbol: Symbol, unit: bool, rigid: frozenset[Any]
) -> Iterator[list[Equation]]:
    """x + a = y + b → [x = b + z, y = a + z], …: solves an equation none of whose aliens collapses."""
    columns = [*left, *right]
    if not unit and not (_can_cover(left, right) and _can_cover(right, left)):
        return
    vectors = basis_of(left, right, rigid)
    variables = [c for c, x in enumerate(columns) if type(x) is Var]
    aliens = [c for c, x in enumerate(columns) if type(x) is not Var]
    names = Names()
    for chosen, optional in selections(vectors, aliens if unit else range(len(columns)), aliens):
        for more in (optional,) if unit else subsets(optional):
            picked = [vectors[v] for v in sorted(chosen + more)]
            yield _unifier(picked, columns, variables, symbol, rigid, names)


def _can_cover(parts: dict[Any, int], other: dict[Any, int]) -> bool:
    """{a: 2}, {x: 1, b: 1} → True: a variable, or enough parts to give each of the others a value."""
    return any(type(x) is Var for x in parts) or sum(parts.values()) >= sum(other.values())


def basis_of(left: dict[Any, int], right: dict[Any, int], rigid: frozenset[Any]) -> list[Vector]:
    """x + a = y → (x, y), (a, y): minimal solutions, each alien at most once, together if they may be equal."""
    columns = [*left, *right]
    weights = [*left.values(), *(-n for n in right.values())]
    classes = [((w, _kind(x)), type(x) is Var) for w, x in zip(weights, columns, strict=True)]

    def allowed(used: dict[Any, int]) -> bool:
        heads = {kind for ((_, kind), repeats) in used if not repeats and kind is not None}
        ground = sum(n for ((_, kind), repeats), n in used.items() if not repeats and kind is None)
        return ground <= 1 and len(heads) <= 1

    def fits(vector: Vector) -> bool:
        aliens = [columns[c] for c in vector if type(columns[c]) is not Var]
        return not any(apart(aliens[0], x, rigid) for x in aliens[1:])

    return [vector for vector in solutions(weights, classes, allowed) if fits(vector)]


def _kind(x: Any) -> Any:
    """f(x) → f, f(a) → None: the head that equal aliens share; no two ground ones are equal."""
    return x.symbol if type(x) is Node and not x.ground else None


def _unifier(
    vectors: list[Vector],
    columns: list[Any],
    variables: list[int],
    symbol: Symbol,
    rigid: frozenset[Any],
    names: Names,
) -> list[Equation]:
    """[(x, y), (a, y)] → [x = z, y = z + a]: the equations of a choice of vectors: each column is the sum of the values
    of its vectors.

    A vector stands for the aliens in it, which are equal; else for the variable that it alone makes up; else for a
    new one.
    """
    values: dict[int, dict[Any, int]] = {c: {} for c in variables}
    uses: dict[int, int] = dict.fromkeys(variables, 0)
    for vector in vectors:
        for c, n in vector.items():
            if c in uses:
                uses[c] += n
    equations: list[Equation] = []
    count = 0
    for vector in vectors:
        aliens = [columns[c] for c in vector if c not in uses]
        if aliens:
            value = next((x for x in aliens if is_ground(x)), aliens[0])
            equations.extend(Equation(value, x, rigid) for x in aliens if x is not value)
        else:
            alone = next((c for c in vector if uses[c] == 1), None)
            value = names[count] if alone is None else columns[alone]
            count += alone is None
        for c, n in vector.items():
            if c in uses:
                values[c][value] = n
    # A variable that is not used is the unit.
    bound = [(columns[c], bag(symbol, parts)) for c, parts in values.items()]
    return [*(Equation(x, value) for x, value in bound if value is not x), *equations]
