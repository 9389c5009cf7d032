"""Equality modulo the theories of products and sums, as a goal: sound, complete, and no answer twice."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from counting import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from kanren import run, var
from kanren.constraints import neq

import relgrad as rg
from relgrad.contract import Laws
from relgrad.interpret import interpret
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.theory import Theory
from relgrad.logic.equality import equal_ground
from relgrad.logic.goals import equalo
from relgrad.logic.unify import fresh
from relgrad.op import as_term, constant
from relgrad.ops.arithmetic import add, divide, multiply, negative, reciprocal, sqrt, square, subtract
from relgrad.ops.exponential import exp, log
from relgrad.ops.trigonometric import sin

W, X, Y, Z = (rg.symbol(n) for n in "wxyz")
w, x, y, z = (as_term(s) for s in (W, X, Y, Z))
SYMBOLS = (x, y, z, w)
PRIMES = dict(zip(SYMBOLS, (2.0, 3.0, 5.0, 7.0), strict=True))
DIGITS = dict(zip(SYMBOLS, (1.0, 100.0, 10000.0, 1000000.0), strict=True))
a, b, c = fresh("a"), fresh("b"), fresh("c")


def value(t: Any, values: dict[Any, float]) -> float:
    """Evaluate a term; products of primes, and sums of powers of a hundred, are told apart by their value."""
    return float(interpret([t], {s: np.float64(v) for s, v in values.items()})[0])


def solve(pattern: Any, subject: Any, *variables: Any) -> tuple[Any, ...]:
    return run(0, variables, equalo(pattern, subject))


def prints(answers: Any, values: dict[Any, float]) -> list[tuple[float, ...]]:
    """Return the answers in order, and check that none comes twice."""
    found = [tuple(value(t, values) for t in answer) for answer in answers]
    assert len(found) == len(set(found)), found
    return sorted(found)


def fold(op: Any, parts: Any) -> Any:
    first, *rest = parts
    for part in rest:
        first = op(first, part)
    return first


def shares(counts: tuple[int, ...], n: int) -> Any:
    """Yield every way to deal out a multiset to n hands."""
    hands = [[deal for deal in product(range(k + 1), repeat=n) if sum(deal) == k] for k in counts]
    yield from product(*hands)


factors = st.lists(st.sampled_from(SYMBOLS), min_size=2, max_size=5)


@settings(max_examples=40, deadline=None)
@given(factors, st.integers(1, 3))
def test_a_product_of_variables_takes_the_factors_in_every_way(parts, n):
    counts = tuple(parts.count(s) for s in SYMBOLS)
    variables = (a, b, c)[:n]
    expected = {
        tuple(
            float(np.prod([p ** deal[i] for p, deal in zip(PRIMES.values(), deals, strict=True)]))
            for i in range(n)
        )
        for deals in shares(counts, n)
    }
    found = prints(solve(fold(multiply, variables), fold(multiply, parts), *variables), PRIMES)
    assert found == sorted(expected)


@settings(max_examples=40, deadline=None)
@given(
    st.permutations(SYMBOLS),
    st.integers(2, 4),
    st.integers(1, 3),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
)
def test_a_sum_of_variables_takes_the_summands_in_every_way_none_empty(order, size, n, coefficients):
    parts = [(s, k) for s, k in zip(order[:size], coefficients, strict=False)]
    variables = (a, b, c)[:n]
    subject = fold(add, [multiply(constant(float(k)), s) for s, k in parts])
    expected = set()
    for owners in product(range(n), repeat=size):
        if set(owners) == set(range(n)):
            sums = [
                sum(k * DIGITS[s] for (s, k), o in zip(parts, owners, strict=True) if o == i)
                for i in range(n)
            ]
            expected.add(tuple(sums))
    assert prints(solve(fold(add, variables), subject, *variables), DIGITS) == sorted(expected)


@pytest.mark.parametrize(
    "pattern, subject, variables, expected",
    [
        (divide(a, b), divide(multiply(x, z), y), (a, b), [(10.0, 3.0)]),
        (divide(a, b), divide(x, multiply(y, z)), (a, b), [(2.0, 15.0)]),
        (reciprocal(a), reciprocal(x), (a,), [(2.0,)]),
        (reciprocal(a), divide(constant(1.0), multiply(x, y)), (a,), [(6.0,)]),
        (reciprocal(a), x, (a,), []),
        (negative(a), negative(x), (a,), [(2.0,)]),
        (negative(a), divide(negative(x), y), (a,), [(2 / 3,)]),
        (multiply(constant(2.0), a), multiply(x, constant(2.0)), (a,), [(2.0,)]),
        (multiply(constant(2.0), a), multiply(constant(6.0), x), (a,), [(6.0,)]),
        (square(a), square(x), (a,), [(2.0,)]),
        (square(a), multiply(multiply(x, y), multiply(y, x)), (a,), [(6.0,)]),
        (square(a), multiply(square(x), y), (a,), []),  # y may be negative
        (square(a), y, (a,), []),
        (square(a), square(square(x)), (a,), [(4.0,)]),
        (square(a), divide(constant(1.0), multiply(x, x)), (a,), [(0.5,)]),
        (square(a), divide(square(x), multiply(y, y)), (a,), [(2 / 3,)]),
        (reciprocal(square(a)), square(x), (a,), []),
        (multiply(a, a), square(multiply(x, y)), (a,), [(6.0,)]),
        (multiply(square(a), y), multiply(multiply(x, y), x), (a,), [(2.0,)]),
        (sqrt(a), sqrt(x), (a,), [(2.0,)]),
        (multiply(sqrt(a), y), multiply(y, sqrt(x)), (a,), [(2.0,)]),
        (multiply(a, x), multiply(multiply(x, y), z), (a,), [(15.0,)]),
        (multiply(a, w), multiply(x, y), (a,), []),
        (add(sqrt(add(a, x)), y), subtract(y, sqrt(subtract(z, x))), (a,), []),  # √u is no odd power of u
        (add(square(add(a, x)), y), subtract(y, square(subtract(z, x))), (a,), []),
        (add(add(a, x), y), subtract(y, subtract(z, x)), (a,), [(-5.0,)]),
        (multiply(sqrt(add(a, x)), y), negative(multiply(y, sqrt(subtract(z, x)))), (a,), []),
    ],
)
def test_inverses_coefficients_and_powers(pattern, subject, variables, expected):
    assert prints(solve(pattern, subject, *variables), PRIMES) == expected
    assert prints(solve(subject, pattern, *variables), PRIMES) == expected


@pytest.mark.parametrize("pattern", [multiply(sin(a), b), multiply(b, sin(a))])
def test_heads_are_found_before_variables_share_the_rest(pattern):
    subject = fold(multiply, [x, sin(y), z, sin(w)])
    answers = solve(pattern, subject, a, b)
    assert {answer[0] for answer in answers} == {y, w}
    assert len(answers) == 2
    assert all(equal_ground(multiply(sin(p), q), subject) for p, q in answers)


def test_a_variable_that_occurs_twice_takes_the_same():
    assert solve(multiply(sin(a), a), multiply(x, sin(x)), a) == ((x,),)
    assert solve(multiply(sin(a), a), multiply(y, sin(x)), a) == ()
    assert solve(add(sin(a), log(a)), add(log(y), sin(y)), a) == ((y,),)
    assert solve(add(sin(a), log(a)), add(log(y), sin(x)), a) == ()


@pytest.mark.parametrize("pattern", [add(a, b), add(b, a)])
def test_a_constant_is_a_summand_that_either_variable_may_take(pattern):
    answers = solve(pattern, add(x, constant(7.0)), a, b)
    assert prints(answers, DIGITS) == [(1.0, 7.0), (7.0, 1.0)]


V = as_term(rg.symbol("v", (3,)))
U = as_term(rg.symbol("u", (3,)))
EQUAL = [
    (multiply(exp(x), exp(y)), exp(add(y, x))),
    (divide(exp(x), exp(y)), exp(as_term(X - Y))),
    (reciprocal(exp(x)), exp(negative(x))),
    (square(exp(x)), exp(multiply(constant(2.0), x))),
    (multiply(exp(x), exp(negative(x))), constant(1.0)),
    (as_term(np.sum(rg.symbol("u", (3,)) / X)), as_term(np.sum(rg.symbol("u", (3,))) / X)),
    (as_term(np.sum(2 * rg.symbol("u", (3,)))), as_term(2 * np.sum(rg.symbol("u", (3,))))),
    (sin(multiply(x, add(y, z))), sin(multiply(add(z, y), x))),
    (add(sin(multiply(x, y)), z), add(z, sin(multiply(y, x)))),
    (multiply(sin(multiply(x, y)), z), multiply(z, sin(multiply(y, x)))),
    (as_term((X + Y) - X), y),
    (as_term(X * Y / X), y),
    (as_term(X * Y + X * Z), as_term(X * (Z + Y))),
    (as_term(-(X - Y)), as_term(Y - X)),
    (as_term(X + X), as_term(2 * X)),
    (as_term(X * X), as_term(X**2)),
    (as_term(1 / (1 / X)), x),
    (as_term(np.sqrt(X**2)), as_term(np.abs(X))),
    (as_term(np.sin(X * Y + Z) * np.exp(X + Y)), as_term(np.exp(Y) * np.sin(Z + Y * X) * np.exp(X))),
]
UNEQUAL = [
    (add(x, y), add(x, z)),
    (multiply(x, y), add(x, y)),
    (divide(x, y), divide(y, x)),
    (as_term(X - Y), as_term(Y - X)),
    (as_term(X**2), as_term(X**3)),
    (as_term(np.sqrt(X**2)), x),
    (exp(multiply(x, y)), multiply(exp(x), exp(y))),
    (sin(add(x, y)), add(sin(x), sin(y))),
    (multiply(constant(2.0), x), multiply(constant(3.0), x)),
    (add(constant(1.0), x), x),
    (
        as_term(np.sum(rg.symbol("u", (3,)) * rg.symbol("v", (3,)))),
        multiply(V, as_term(np.sum(rg.symbol("u", (3,))))),
    ),
    (as_term(np.arctan2(X, Y)), as_term(np.arctan2(Y, X))),
]


@pytest.mark.parametrize("u, v", EQUAL)
def test_equal_terms_are_equal_both_ways(u, v):
    q = var()
    assert run(1, q, equalo(u, v))
    assert run(1, q, equalo(v, u))


@pytest.mark.parametrize("u, v", UNEQUAL)
def test_unequal_terms_are_not(u, v):
    q = var()
    assert run(1, q, equalo(u, v)) == ()
    assert run(1, q, equalo(v, u)) == ()


def test_exponentials_match_together_and_apart():
    assert solve(exp(a), multiply(exp(x), exp(y)), a)[0][0] in (add(x, y), add(y, x))
    answers = prints(solve(multiply(exp(a), exp(b)), exp(add(x, y)), a, b), DIGITS)
    assert (1.0, 100.0) in answers
    assert (100.0, 1.0) in answers
    assert all(p + q == 101.0 for p, q in answers)


def test_a_sum_is_linear_in_what_is_constant_along_its_axes():
    axis = fresh("axis")
    s = np.sum(rg.symbol("u", (3,)) / X, keepdims=True, axis=-1)
    pattern = (
        as_term(np.sum(rg.symbol("u", (3,)), axis=-1, keepdims=True))
        .op.with_props([axis])
        .make_node(divide(b, a))
    )
    answers = solve(pattern, as_term(s), a, b, axis)
    assert (x, U, (-1,)) in answers


def test_the_occurs_check_refuses_cycles():
    assert solve(a, multiply(a, x), a) == ()
    assert solve(a, sin(add(a, x)), a) == ()
    assert run(0, (a, b), equalo(a, sin(b)), equalo(b, sin(a))) == ()


@pytest.mark.parametrize("op", [add, multiply])
def test_a_thousand_arguments_are_little_work(op):
    def questions(n):
        many = [as_term(rg.symbol(f"s{i}")) for i in range(n)]
        u, v = fold(op, many), fold(op, many[::-1])
        q = var()
        assert run(1, q, equalo(op(u, x), op(u, x)))
        run(1, q, equalo(u, v))
        assert run(1, q, equalo(u, op(v, x))) == ()
        run(1, (a, b), equalo(op(a, b), u))
        run(1, (a, b), equalo(op(sin(a), b), op(u, sin(x))))

    assert calls(lambda: questions(1000)) < 1_000_000  # 406,000 measured


def test_constraints_that_a_state_carries_are_honoured():
    products = solve(multiply(a, b), multiply(x, y), a, b)
    assert {p for p, _ in products} >= {x, y}
    constrained = run(0, (a, b), neq(a, x), equalo(multiply(a, b), multiply(x, y)))
    assert {p for p, _ in constrained} == {p for p, _ in products} - {x}
    question = eq_aco(("+", a, b), ("+", "x", "y"), Theory({"+": Laws(associative=True, commutative=True)}))
    assert run(0, a, neq(a, "x"), question) == run(0, a, question, neq(a, "x")) == ("y",)


def test_the_square_of_a_rounded_root_is_what_it_is_the_root_of():
    """(x/√2)² = x²/2, of (0.1·x)² nothing of the kind: 0.1 is the number that it is."""
    for root, number in ((np.sqrt(2.0), 2.0), (np.sqrt(0.75), 0.75), (np.sqrt(7.0), 7.0)):
        assert equal_ground(square(divide(x, constant(root))), divide(square(x), constant(number)))
        scaled = multiply(constant(root), x)
        assert equal_ground(multiply(scaled, scaled), multiply(constant(number), square(x))) is (
            number != 0.6
        )
    assert not equal_ground(square(multiply(constant(0.1), x)), divide(square(x), constant(100.0)))
