"""One table of questions that every matcher is held against: tuples, ops, bags, words, sums, products.

The oracle is brute force over small terms (`aco_oracle.brute_force`), which knows nothing of the code under test. A
matcher must give exactly its answers, each once, where it is said to be complete: in all questions, but for sums and
products of which a part of a summand, or a root, would have to be taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from aco_oracle import ATOMS, Generator, Hole, Law, Problem, brute_force, canon, complaints, fill, subterms
from kanren import eq, run
from test_associative import Join

import relgrad as rg
from relgrad.contract import Laws
from relgrad.logic.aco.goal import eq_aco
from relgrad.logic.aco.theory import Theory
from relgrad.logic.equality import equal_ground
from relgrad.logic.goals import equalo
from relgrad.logic.unify import fresh
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import add, multiply, negative, sqrt, square
from relgrad.ops.selection import maximum
from relgrad.ops.trigonometric import sin
from relgrad.term import term

FREE = {"f": Join("f", Laws()), "g": Join("g", Laws())}
LEAVES = {name: as_term(rg.symbol(name)) for name in ATOMS}
X, Y, Z, W = (Hole(name) for name in "XYZW")


class Matcher(NamedTuple):
    """A goal for equality, the head and the laws that `s` stands for, and the questions that it answers completely."""

    goal: Callable[[Any, Any], Any]
    op: Any
    letters: str
    is_complete: Callable[[Problem], bool] = lambda problem: True


def parts_of(problem: Problem) -> list[Counter[Any]]:
    """Return the operands of each sum or product in both sides."""
    terms = [t for side in problem[1:] for t in subterms(canon(side, problem.theory))]
    return [Counter(t[1:]) for t in terms if isinstance(t, tuple) and t[0] == "s"]


def takes_no_root(problem: Problem) -> bool:
    """Whether no variable is a factor several times: 1 is not taken for 1²."""
    return all(n == 1 for parts in parts_of(problem) for x, n in parts.items() if isinstance(x, Hole))


def takes_no_part(problem: Problem) -> bool:
    """Whether no summand stands several times, and no variable that is a summand stands elsewhere: x + x is 2·x."""
    found = parts_of(problem)
    everywhere = Counter(x for x in subterms(canon(problem.pattern, problem.theory)) if isinstance(x, Hole))
    summands = {x for parts in found for x in parts if isinstance(x, Hole)}
    few = all(n == 1 for parts in found for n in parts.values()) and all(len(parts) <= 4 for parts in found)
    return few and all(everywhere[x] == 1 for x in summands)


def declared(letters: str) -> dict[str, Any]:
    unit = 1 if "U" in letters else None
    return {"associative": "A" in letters, "commutative": "C" in letters, "identity": unit}


def on_tuples(letters: str) -> Matcher:
    theory = Theory({"s": Laws(**declared(letters))})
    return Matcher(lambda u, v: eq_aco(u, v, theory), None, letters)


def on_terms(letters: str) -> Matcher:
    return Matcher(eq_aco, Join("s", Laws(**declared(letters))), letters)


MATCHERS = {
    **{f"tuples {letters}": on_tuples(letters) for letters in ("A", "AC", "ACU", "C")},
    **{f"ops {letters}": on_terms(letters) for letters in ("A", "AC", "C")},
    "operands": Matcher(equalo, Join("bag", Laws(associative=True, commutative=True)), "AC"),
    "operands in order": Matcher(equalo, Join("word", Laws(associative=True)), "A"),
    "operands in pairs": Matcher(equalo, Join("pair", Laws(commutative=True)), "C"),
    "sums": Matcher(equalo, add, "AC", takes_no_part),
    "products": Matcher(equalo, multiply, "ACU", takes_no_root),
}
TABLE = [
    (("s", X, Y), ("s", "a", "b")),
    (("s", X, Y), ("s", "a", "b", "c")),
    (("s", X, Y, Z), ("s", "a", "b", "c")),
    (("s", X, Y), "a"),
    (("s", X, X), ("s", "a", "a")),
    (("s", X, X), ("s", "a", "b", "a", "b")),
    (("s", X, X, Y), ("s", "a", "b", "a")),
    (("s", X, X), ("s", "a", "b", "b")),
    (("s", "a", X), ("s", "b", "a")),
    (("s", "a", X), ("s", "b", "c")),
    (("s", ("f", X), Y), ("s", ("f", "a"), ("f", "b"))),
    (("s", ("f", X), ("f", Y)), ("s", ("f", "a"), ("f", "b"))),
    (("s", ("f", X), ("f", X)), ("s", ("f", "a"), ("f", "a"))),
    (("s", ("f", X), X), ("s", ("f", "a"), "a")),
    (("s", ("f", X), X), ("s", "a", ("f", "b"))),
    (("s", ("f", X), X, Y), ("s", ("f", "a"), "a", ("f", "b"), "b")),
    (("s", ("f", ("s", X, Y)), X), ("s", ("f", ("s", "a", "b")), "b")),
    (("s", ("g", X, Y), ("g", Y, Z)), ("s", ("g", "a", "b"), ("g", "b", "c"))),
    (("s", ("g", X, Y), ("g", Y, X), Z), ("s", ("g", "a", "b"), ("g", "b", "a"), "c")),
    (("f", ("s", X, "a")), ("f", ("s", "a", "b", "c"))),
    (("g", ("s", X, Y), X), ("g", ("s", "a", "b", "c"), "a")),
    (("g", ("s", X, Y), ("s", Y, X)), ("g", ("s", "a", "b"), ("s", "a", "b"))),
]


def written(t: Any, matcher: Matcher, variables: dict[Hole, Any]) -> Any:
    if isinstance(t, Hole):
        return variables.setdefault(t, fresh(t.name))
    if matcher.op is None:
        return (t[0], *[written(x, matcher, variables) for x in t[1:]]) if isinstance(t, tuple) else t
    if not isinstance(t, tuple):
        return LEAVES[t] if t in LEAVES else constant(float(t))
    operands = [written(x, matcher, variables) for x in t[1:]]
    op = FREE.get(t[0], matcher.op)
    result, *others = operands if t[0] == "s" else [term(op, *operands)]
    for x in others:
        result = term(op, result, x)
    return result if "A" in matcher.letters or len(operands) < 3 or t[0] != "s" else term(op, *operands)


def read(t: Any, matcher: Matcher) -> Any:
    """Read an answer; a power is a product of equal factors."""
    if matcher.op is None:
        return tuple([read(x, matcher) for x in t]) if isinstance(t, tuple) else t
    if is_constant(t):
        return int(t.op.value)
    if t in LEAVES.values():
        return next(name for name, leaf in LEAVES.items() if leaf is t)
    operands = [read(x, matcher) for x in t.rands]
    if t.op.name == "square":
        return ("s", *operands, *operands)
    if t.op.name == "power":
        return ("s", *operands[:1] * operands[1])
    return ("s" if t.op == matcher.op else t.op.name, *operands)


def asked(matcher: Matcher, problem: Problem) -> list[Any]:
    variables: dict[Hole, Any] = {}
    # In what order operands stand is for views to see; that f(x·1) is f(x), where both stand, is not.
    as_read = canon if matcher.goal is equalo and matcher.op in (add, multiply) else lambda t, theory: t
    u, v = (written(as_read(t, problem.theory), matcher, variables) for t in problem[1:])
    answers = run(0, tuple([variables[h] for h in sorted(variables)]), matcher.goal(u, v))
    return [tuple(read(x, matcher) for x in answer) for answer in answers]


def failing(matcher: Matcher, problems: list[Problem]) -> list[Any]:
    failures = []
    for problem in filter(matcher.is_complete, problems):
        found = complaints(problem, asked(matcher, problem), brute_force(problem))
        failures += [(problem.pattern, problem.subject, found[:3])] if found else []
    return failures


def law(matcher: Matcher) -> dict[str, Law]:
    return {"s": Law(matcher.letters, 1 if "U" in matcher.letters else None)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MATCHERS)
def test_the_answers_are_those_of_brute_force_each_once(name):
    matcher = MATCHERS[name]
    rows = [(p, t) for p, t in TABLE if "A" in matcher.letters or all(len(x) < 4 for x in map(tuple, (p, t)))]
    rows = [
        row for row in rows if "A" in matcher.letters or not any(len(x) > 3 for t in row for x in tuples(t))
    ]
    assert len(rows) > 8
    assert failing(matcher, [Problem(law(matcher), *row) for row in rows]) == []


def tuples(t: Any) -> list[Any]:
    return [x for x in subterms(t) if isinstance(x, tuple)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MATCHERS)
def test_of_random_questions_too(name):
    matcher = MATCHERS[name]
    generator = Generator(f"matchers {matcher.letters}", law(matcher))
    problems = [generator.matching(holes=2 + i % 2) for i in range(300)]
    assert len([p for p in problems if matcher.is_complete(p)]) > 20
    assert failing(matcher, problems) == []


@pytest.mark.parametrize("name", [n for n in MATCHERS if "tuples" not in n])
def test_a_wrong_answer_would_be_seen(name):
    matcher = MATCHERS[name]
    problem = Problem(law(matcher), ("s", X, "a"), ("s", "b", "a"))
    other = problem._replace(subject=fill(problem.pattern, {X: "c"}))
    assert complaints(problem, asked(matcher, other), brute_force(problem)) != []


def test_a_number_in_what_a_variable_is_bound_to_is_not_lost():
    a, b, c = fresh("a"), fresh("b"), fresh("c")
    x, y = LEAVES["a"], LEAVES["b"]
    bound = eq(a, multiply(constant(2.0), sin(b)))
    for number in (1.0, 6.0):
        subject = multiply(multiply(constant(number), sin(x)), y)
        ((found, rest),) = run(0, (b, c), bound, equalo(multiply(a, c), subject))
        assert found is x
        assert equal_ground(rest, multiply(constant(number / 2), y))


def test_variables_that_have_become_one_take_one_value():
    a, b, c = fresh("a"), fresh("b"), fresh("c")
    x, y = LEAVES["a"], LEAVES["b"]
    for op in (multiply, add, MATCHERS["operands"].op):
        assert op is add or run(0, c, eq(a, c), eq(b, c), equalo(op(a, b), op(x, y))) == ()
        assert run(0, c, eq(a, c), eq(b, c), equalo(op(op(a, b), x), op(op(y, x), y))) == (y,)
    cubed = multiply(multiply(constant(4.0), x), multiply(x, x))
    assert run(0, c, eq(a, square(add(c, c))), equalo(multiply(a, c), cubed)) == (x,)
    assert run(0, c, eq(a, square(add(c, c))), equalo(multiply(a, c), multiply(x, y))) == ()


def test_the_root_of_what_is_negative_as_written_is_a_factor():
    a, x, y = fresh("a"), LEAVES["a"], LEAVES["b"]
    pattern, subject = (multiply(sqrt(t), maximum(t, u)) for t, u in ((a, y), (negative(x), y)))
    assert all(equal_ground(found, negative(x)) for found in run(0, a, equalo(pattern, subject)))
