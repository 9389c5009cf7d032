"""Relations: every row is true in high precision and a goal in every mode; nonsense is refused."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kanren import conde, lall, run, var
from unification import unify

import relgrad as rg
from relgrad.accuracy.instance import Instance
from relgrad.accuracy.instance import instances as instances_of
from relgrad.errors import ShapeError
from relgrad.logic.equality import equal_ground
from relgrad.logic.goals import equalo
from relgrad.logic.theory import PRODUCT, SUM
from relgrad.op import as_term, constant, is_constant
from relgrad.ops.arithmetic import multiply
from relgrad.relation import normalizedo
from relgrad.term import subterms

SHAPE, SQUARE = (4,), (3, 3)
"""The shapes of the variables: vectors, or matrices where a row is of matrices."""
WITHIN = {
    "angle_from_axis",
    "elevation_of_vector",
    "entry_minus_logsumexp",
    "log_of_share",
    "log_of_share_of_part",
    "log_of_share_of_two",
    "log_softmax_of_rounded_product",
    "logsumexp_of_distances_from_entry",
    "rapidity_of_vector",
    "sine_of_angle_from_axis",
    "softmax_of_rounded_product",
}
"""Rows of an array and entries of it, of shares, of directions, or of rounded multiples: cases have those."""
ROWS = list(rg.LIBRARY)
TRIED = [row for row in ROWS if row.name not in WITHIN]
NAMES = [row.name for row in TRIED]
SOUGHT = {row for row in ROWS if any(getattr(c, "finds", None) for c in row.conditions)}
"""Rows whose conditions find the right side, given expressions rather than arrays."""
PARTS = [lambda s: s, np.cosh, lambda s: -np.cosh(s)]
"""What stands for a variable: anything, something positive, something negative."""


def instances(row: Any) -> list[tuple[Any, Any]]:
    """List the two sides with ground terms for the variables, in each way that the conditions let pass."""
    if row in SOUGHT:
        return [(made.left, made.right) for made in instances_of(row, 6)]
    try:
        found = _instances(row, SHAPE)
    except (ShapeError, ValueError):
        found = _instances(row, SQUARE)
    return found or [(made.left, made.right) for made in instances_of(row, 6)]


def _instances(row: Any, shape: tuple[int, ...]) -> list[tuple[Any, Any]]:
    names = [v.token.rsplit("_", 1)[0] for v in row.variables]
    axes = [n == "axis" or n.endswith("_axis") for n in names]
    found = []
    for parts in product(PARTS, repeat=axes.count(False)):
        chosen = iter(parts)
        arguments = [
            (-1,) if a else next(chosen)(rg.symbol(n, shape)) for n, a in zip(names, axes, strict=True)
        ]
        left, right, *conditions = row.function(*arguments)
        if all(any(True for _ in condition({})) for condition in conditions):
            found.append((as_term(left), as_term(right)))
    return found


def evaluate(root: Any, values: dict[str, Any], rounded: dict[Any, Any]) -> Any:
    """Interpret a term over balls; a constant of many digits stands for what it may have been rounded from."""
    done: dict[Any, Any] = {}
    for node in subterms(root):
        if not node.rands and node.op.name in values:
            done[node] = values[node.op.name]
        elif node in rounded:
            done[node] = rounded[node]
        else:
            found = node.op.ball(*[done[rand] for rand in node.rands])
            done[node] = found if isinstance(found, tuple) else np.asarray(found, dtype=object)
    return done[root]


def holds(row: Any) -> bool:
    """Whether both sides agree to 1e-20 wherever the left is defined, which must be somewhere."""
    flint = pytest.importorskip("flint")
    rng = np.random.default_rng(7)
    ball = np.frompyfunc(lambda v: flint.arb(float(v)), 1, 1)
    defined = 0
    with flint.ctx.workprec(400):
        for left, right in instances(row):
            rounded = Instance(left, right, {}, {}).rounded
            for scale, middle in ((0.5, 0.0), (2.0, 0.0), (6.0, 0.0), (0.2, 0.5)):
                leaves = {t for t in subterms(left, right) if not t.rands and not is_constant(t)}
                shapes = {t.op.name: t.type.shape for t in sorted(leaves, key=str)}
                values = {n: ball(middle + scale * rng.standard_normal(shape)) for n, shape in shapes.items()}
                sides = np.broadcast_arrays(*(evaluate(side, values, rounded) for side in (left, right)))
                for a, b in zip(*(np.ravel(side) for side in sides), strict=True):
                    a, b = flint.arb(a), flint.arb(b)
                    if a.is_finite() and a.rel_accuracy_bits() > 67:  # else nothing can be told
                        defined += 1
                        if not (a.overlaps(b) and b.rel_accuracy_bits() > (40 if rounded else 67)):
                            return False
    return defined > 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", TRIED, ids=NAMES)
def test_every_row_is_true(row):
    assert row.doc
    assert row.source
    assert holds(row)


def wrong_sign(x):
    return np.log(1 / x), np.log(x), rg.positive(x)


def lost_absolute_value(x):
    return np.sqrt(x**2), x


def too_wide(x):
    return np.log(x**2), 2 * np.log(x)


def wrong_weights(x, w, axis):
    return np.sum(w * np.exp(x), axis=axis, keepdims=True), np.sum(np.exp(x), axis=axis, keepdims=True)


def exp_of_negated(x):
    return np.exp(-x), 1 / np.exp(x)


def nearly_one(x):
    return np.tanh(x + 40), 1


@pytest.mark.parametrize("function", [wrong_sign, lost_absolute_value, too_wide, wrong_weights, nearly_one])
def test_the_check_refuses_what_is_false(function):
    assert not holds(rg.relation(function))


def test_the_check_accepts_on_the_domain_what_it_refuses_beside_it():
    assert holds(rg.relation(lambda x: (np.sqrt(x**2), x, rg.nonnegative(x))))
    assert not holds(rg.relation(lambda x: (np.sqrt(x**2), x, rg.negative(x))))
    assert holds(rg.relation(lambda x: (np.log(x**2), 2 * np.log(x), rg.positive(x))))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", TRIED, ids=NAMES)
def test_forward(row):
    left, right = instances(row)[0]
    q = var()
    answers = run(0, q, row(left, q))
    assert any(equal_ground(answer, right) for answer in answers), [str(a) for a in answers]


@pytest.mark.parametrize("row", [row for row in TRIED if row not in SOUGHT], ids=lambda row: row.name)
def test_backward(row):
    left, right = instances(row)[0]
    q, r = var(), var()
    answers = run(0, q, row(q, right))
    assert any(run(1, r, equalo(answer, left)) for answer in answers), [str(a) for a in answers]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", TRIED, ids=NAMES)
def test_both_ground(row):
    q = var()
    left, right = instances(row)[0]
    other = as_term(np.arctan(rg.symbol("other", SHAPE)))
    assert run(1, q, row(left, right))
    assert run(0, q, row(left, other)) == ()
    assert run(0, q, row(left, multiply(constant(2.0), right))) == ()
    assert run(0, q, row(other, right)) == ()


@pytest.mark.parametrize("row", TRIED, ids=NAMES)
def test_both_unknown_gives_the_equation(row):
    u, v = var(), var()
    ((left, right),) = run(0, (u, v), row(u, v))
    assert unify((left, right), (row.left, row.right), {}) is not False


def test_rows_join_with_the_goals_of_kanren():
    rows = {row.name: row for row in rg.LIBRARY}
    x = rg.symbol("x", SHAPE)
    u, q = var(), var()
    steps = lall(
        rows["exponential_over_one_plus_exponential"](np.exp(x) / (1 + np.exp(x)), u),
        rows["log_of_logistic"](as_term(np.log(rg.expit(x))), q),
    )
    assert as_term(rg.log_expit(x)) in run(0, q, steps)
    either = conde(
        [rows["log_of_exponential"](np.log(1 + np.exp(x)), q)],
        [rows["log_of_one_plus_exponential"](np.log(1 + np.exp(x)), q)],
    )
    assert run(0, q, either) == (as_term(rg.softplus(x)),)


def test_a_condition_that_fails_leaves_no_answer():
    q, w = var(), rg.symbol("w", SHAPE)
    row = next(row for row in rg.LIBRARY if row.name == "exponential_of_logarithm")
    assert run(0, q, row(np.exp(np.log(w)), q)) == ()
    assert run(0, q, row(np.exp(np.log(np.cosh(w))), q))


@pytest.mark.parametrize(
    "function, says",
    [
        (lambda x: np.exp(x), "does not return an equation"),
        (lambda x: (np.exp(x),), "does not return an equation"),
        (lambda x: None, "does not return an equation"),
        (lambda x: (np.exp(x), x, 3), "does not return an equation"),
        (lambda x: (x, np.exp(x)), "the left side of .* is a bare variable"),
        (
            lambda x, y: (np.exp(x), np.exp(y)),
            "the right side of .* uses .*y.*, which its left side does not have",
        ),
        (
            lambda x, y: (np.exp(x), x, rg.positive(y)),
            "has .*y.*, which its left side does not have",
        ),
        (
            lambda x, axis: (np.exp(x), rg.softmax(x, axis=axis)),
            "uses .*axis.*, which its left side does not have",
        ),
        (lambda x, axis: (np.log(np.sum(np.exp(x), axis=axis)), x), "keepdims"),
    ],
)
def test_what_is_no_relation_is_told_why(function, says):
    with pytest.raises(rg.RelationError, match=says):
        rg.relation(function)


def loss(x: Any) -> Any:
    return -np.log(np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True))[1] + np.log(1 + np.exp(x[0]))


def test_the_order_of_rows_carries_no_meaning():
    x = np.array([0.5, -1.0, 2.0])
    rows = list(rg.LIBRARY)
    expected = rg.grad(loss, relations=rg.LIBRARY).source(x)
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        shuffled = rg.Library(rows)
        assert [row.name for row in shuffled] == [row.name for row in ROWS]
        assert rg.grad(loss, relations=shuffled).source(x) == expected


def test_libraries_are_values():
    row = rg.relation(exp_of_negated)
    more = rg.LIBRARY.extended(row)
    assert row in more
    assert row not in rg.LIBRARY
    assert len(list(more)) == len(ROWS) + 1
    assert {r.name for r in more.without(row.name)} == {r.name for r in ROWS}
    some = rg.LIBRARY.restricted("log_of_exponential", "log_of_one_minus_exponential")
    assert {r.name for r in some} == {"log_of_exponential", "log_of_one_minus_exponential"}
    assert list(rg.LIBRARY.restricted()) == []


@rg.relation(source="Hamming, NMSE (1973), problem 3.3.3")
def second_difference_of_reciprocals(x, y):
    """The second difference of a reciprocal."""
    return 1 / (x + y) - 2 / x + 1 / (x - y), 2 / x * (y / (x - y)) * (y / (x + y))


def test_a_sum_is_offered_rows_of_no_more_summands_than_it_has():
    x, y = (rg.symbol(name, (3,)) for name in "xy")
    library = rg.LIBRARY.extended(second_difference_of_reciprocals)
    offered = lambda t: {row.name for row in library.candidates(as_term(t), SUM)}
    rows = "second_difference_of_reciprocals", "squared_distance_expanded_in_two"
    three = 1 / (x + y) - 2 / x + 1 / (x - y)
    assert rows[0] in offered(three)
    assert rows[0] not in offered(1 / (x + y) - 2 / x)
    sums = [np.sum(z, axis=-1, keepdims=True) for z in (x * x + y * y, 2 * x * y)]
    assert rows[1] in offered(sums[0] - sums[1])
    assert rows[1] not in offered(sums[0] - x)
    # A constant may stand for a summand.
    assert rows[0] in offered(1 / (x + 1) - 2 / x + 1.0)


@rg.relation(source="the condition is about more than the left side")
def quotient_of_exponents(x, y, z):
    """What is asked of another term than the place is asked where the place has nothing of it."""
    return x / y, np.log(z), normalizedo(np.exp(x) / (np.exp(x) + np.exp(y)), z)


def test_goals_are_asked_wherever_they_may_hold():
    x, y = (rg.symbol(name, (3,)) for name in "xy")
    f = rg.Library([quotient_of_exponents]).candidates(as_term(x / y), PRODUCT)
    assert [row.name for row in f] == ["quotient_of_exponents"]
    found = run(0, var("v"), quotient_of_exponents(as_term(x / y), var("v")))
    assert [str(t.op) for t in found] == ["log"]
    mended = library_row("quotient_in_the_log_domain")
    assert run(0, var("v"), mended(as_term(x / y), var("v"))) == ()
    assert run(0, var("v"), mended(as_term(np.exp(x) / np.sum(np.exp(x))), var("v"))) != ()


def library_row(name):
    return next(row for row in rg.LIBRARY if row.name == name)


def test_a_row_of_the_same_name_replaces():
    def log_of_exponential(x):
        return np.log(np.exp(x)), x

    row = rg.relation(log_of_exponential)
    more = rg.LIBRARY.extended(row)
    assert row in more
    assert len(list(more)) == len(ROWS)


def test_two_rows_of_one_name_are_no_library():
    rows = [rg.relation(wrong_sign) for _ in range(2)]
    with pytest.raises(rg.RelationError) as error:
        rg.Library(rows)
    for says in ("two relations are named wrong_sign", f"{__file__}:", "library.extended(new)"):
        assert says in str(error.value)
    assert list(rg.Library([rows[0], rows[0]])) == rows[:1]


@pytest.mark.parametrize("row", ["log_of_one_plus_exponential", "log_of_one_plus"])
def test_only_the_rows_of_the_library_are_used(row):
    x = np.array(-0.1)
    without = rg.stabilize(lambda x: np.log(1 + np.exp(x)), relations=rg.LIBRARY.restricted(row))
    assert ("softplus" in without.source(x)) == (row == "log_of_one_plus_exponential")


SCRIPT = """
import numpy as np
import relgrad as rg
from test_relations import loss
x = np.array([0.5, -1.0, 2.0])
for f in (rg.grad(loss), rg.hessian(loss), rg.stabilize(loss)):
    print(f.explain(x))
    print(f.source(x))
"""


def test_a_derivation_does_not_depend_on_the_seed_of_hashes():
    here = Path(__file__).resolve().parent
    path = os.pathsep.join([str(here), str(here.parent)])
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "4242")
    ]
    assert outputs[0]
    assert outputs[0] == outputs[1]
