"""A user's own op takes part in matching by declaring its laws: associative, commutative, idempotent."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from kanren import run

import relgrad as rg
from relgrad.contract import Laws
from relgrad.logic.equality import equal_ground
from relgrad.logic.goals import equalo
from relgrad.logic.unify import fresh
from relgrad.op import as_term
from relgrad.ops.exponential import exp
from relgrad.ops.trigonometric import cos, sin
from relgrad.schedule.schedule import schedule


class Join(rg.Op):
    """A user's binary op, whose laws are a prop."""

    __props__ = ("label", "laws")

    def __init__(self, label: str, laws: Laws, function: Any = np.hypot):
        self.label, self.laws, self.function = label, laws, function

    @property
    def name(self) -> str:
        return self.label

    def output_type(self, *types: Any) -> Any:
        return types[0]

    def compute(self, *arrays: Any) -> Any:
        return self.function(*arrays)


AC = Join("ac", Laws(associative=True, commutative=True))
ACI = Join("aci", Laws(associative=True, commutative=True, idempotent=True), np.maximum)
A = Join("a", Laws(associative=True), lambda x, y: x)
SYMBOLS = [as_term(rg.symbol(n)) for n in "wxyz"]
w, x, y, z = SYMBOLS
p, q, r = fresh("p"), fresh("q"), fresh("r")


def fold(op: Any, parts: Any, right: bool = False) -> Any:
    parts = list(parts)
    if right:
        result = parts.pop()
        while parts:
            result = op(parts.pop(), result)
        return result
    result = parts.pop(0)
    for part in parts:
        result = op(result, part)
    return result


@pytest.mark.parametrize("right", [False, True])
def test_equality_is_that_of_multisets_sequences_and_sets(right):
    for order in permutations(SYMBOLS):
        assert equal_ground(fold(AC, SYMBOLS), fold(AC, order, right))
        assert equal_ground(fold(A, SYMBOLS), fold(A, order, right)) == (list(order) == SYMBOLS)
        assert equal_ground(fold(ACI, [*order, w, x]), fold(ACI, SYMBOLS, right))
    assert not equal_ground(fold(AC, [w, w, x]), fold(AC, [w, x, x]))
    assert equal_ground(sin(AC(x, cos(AC(y, z)))), sin(AC(cos(AC(z, y)), x)))


@pytest.mark.parametrize("op", [AC, A])
def test_variables_share_the_operands_in_every_way_each_once(op):
    answers = run(0, (p, q), equalo(op(p, q), fold(op, SYMBOLS)))
    if op is A:
        expected = {(fold(A, SYMBOLS[:i]), fold(A, SYMBOLS[i:])) for i in (1, 2, 3)}
        assert len(answers) == 3
        assert all(any(all(map(equal_ground, a, e)) for e in expected) for a in answers)
        return
    assert len(answers) == 2**4 - 2
    assert all(equal_ground(op(a, b), fold(op, SYMBOLS)) for a, b in answers)
    assert not any(
        all(map(equal_ground, answers[i], answers[j])) for i in range(len(answers)) for j in range(i)
    )


def test_heads_repeated_variables_and_bound_ones():
    subject = fold(AC, [sin(x), cos(x), sin(y), cos(z), x])
    assert run(0, p, equalo(fold(AC, [sin(p), cos(p), q]), subject)) == (x,)
    assert run(0, p, equalo(fold(AC, [p, p]), fold(AC, [x, y, y, x])))[0] in (AC(x, y), AC(y, x))
    assert run(0, p, equalo(fold(AC, [p, p]), fold(AC, [x, y, x]))) == ()
    assert run(0, p, equalo(fold(AC, [sin(p), p, q, r]), fold(AC, [sin(x), sin(y), y, z, w]))) == (y,) * 6
    assert run(0, (p, q), equalo(exp(AC(p, sin(q))), exp(AC(sin(w), z)))) == ((z, w),)


def row(op):
    def sine_and_cosine(v):
        """A made-up equation."""
        return op(np.sin(v), np.cos(v)), np.tanh(v)

    return rg.relation(sine_and_cosine)


def rewritten(op, parts):
    (after,) = schedule([fold(op, parts)], rg.Library([row(op)])).after
    return after


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_a_relation_applies_inside_larger_applications_and_keeps_the_rest_in_its_order(n):
    rest = [as_term(rg.symbol(f"s{i}")) for i in range(n)]
    tanh = as_term(np.tanh(rg.symbol("x")))
    for parts in ([cos(x), *rest, sin(x)], [sin(x), cos(x), *rest], [*rest, sin(x), cos(x)]):
        assert rewritten(AC, parts) is fold(AC, [*rest, tanh])
    assert rewritten(A, [*rest, sin(x), cos(x), *rest]) is fold(A, [*rest, tanh, *rest])
    if n:
        assert rewritten(A, [cos(x), *rest, sin(x)]) is fold(A, [cos(x), *rest, sin(x)])


def test_every_occurrence_is_found_and_the_inner_applications_do_not_take_it_away():
    symbols = [as_term(rg.symbol(f"s{i}")) for i in range(6)]
    parts = [f(s) for f, s in product((sin, cos), symbols)]
    derivation = schedule([fold(AC, parts)], rg.Library([row(AC)]))
    assert derivation.relations == ["sine_and_cosine"] * 6
    assert equal_ground(
        derivation.after[0], fold(AC, [as_term(np.tanh(rg.symbol(f"s{i}"))) for i in range(6)])
    )


def test_the_engine_computes_with_it():
    f = lambda x: ACI(ACI(np.sin(x), x), np.cos(x))
    values = np.linspace(-2, 2, 5)
    library = rg.Library([rg.relation(row_of_maximum)])
    np.testing.assert_allclose(rg.stabilize(f, relations=library)(values), f(values))


def row_of_maximum(v):
    """The larger of sine and cosine, by the addition theorem: of equal value on both sides."""
    return ACI(np.sin(v), np.cos(v)), (np.sin(v) + np.cos(v) + np.abs(np.sin(v) - np.cos(v))) / 2
