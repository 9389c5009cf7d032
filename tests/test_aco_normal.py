"""Normal forms modulo declared laws: one object for all terms that are equal, written back as the terms they are."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
from aco_oracle import LAWS, Generator, Law, canon, two_laws
from etuples import etuple
from hypothesis import given, settings
from hypothesis import strategies as st
from kanren import fact, var
from kanren.assoccomm import associative, commutative
from unification import reify

import relgrad
from relgrad.contract import Laws
from relgrad.errors import LawError
from relgrad.logic.aco.carriers import GroundTuple
from relgrad.logic.aco.node import Node, bag, make, symbol_of, term_of
from relgrad.logic.aco.normal import normal
from relgrad.logic.aco.theory import AC, DECLARED, FREE, Theory
from relgrad.logic.laws import idempotent, identity
from relgrad.op import as_term, constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.ops.comparison import logical_and
from relgrad.ops.selection import maximum

JOIN = Laws(associative=True, commutative=True)
THEORY = Theory(
    {
        "+": Laws(associative=True, commutative=True, identity=0),
        "*": JOIN,
        ".": Laws(associative=True),
        ";": Laws(associative=True, identity="skip"),
        "c": Laws(commutative=True),
        "d": Laws(commutative=True, identity=0),
        "u": Laws(associative=True, commutative=True, idempotent=True),
    }
)
x, y = var(), var()


@pytest.fixture(autouse=True)
def facts_stay() -> Iterator[None]:
    relations = (associative, commutative, idempotent, identity)
    before = [(set(r.facts), {k: set(v) for k, v in r.index.items()}) for r in relations]
    yield
    for relation, (facts, index) in zip(relations, before, strict=True):
        relation.facts.clear()
        relation.facts.update(facts)
        relation.index.clear()
        relation.index.update(index)


def theory_of(theory: dict[str, Law]) -> Theory:
    return Theory(
        {
            head: Laws(
                associative="A" in law.letters,
                commutative="C" in law.letters,
                idempotent="I" in law.letters,
                identity=law.unit,
            )
            for head, law in theory.items()
        }
    )


@given(st.sampled_from(LAWS), st.sampled_from(LAWS), st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_normal_forms_are_one_object_exactly_for_equal_terms(first: str, second: str, seed: int):
    theory = two_laws(first, second)
    generator = Generator(seed, theory, atoms=("a", "b"))
    ours = theory_of(theory)
    one, other = generator.term(3), generator.term(2)
    for t in (generator.scrambled(one), other):
        equal = canon(one, theory) == canon(t, theory)
        left, right = normal(one, ours), normal(t, ours)
        assert (left is right or (type(left) is not Node and left == right)) == equal
        assert normal(term_of(left), ours) == left


@pytest.mark.parametrize(
    ("term", "form"),
    [
        (("+", 1, ("+", 2, 1)), ("+", 1, 1, 2)),
        (("+", "a", 0), "a"),
        (("+", 0, ("+", 0)), 0),
        (("+",), 0),
        (("*", "a"), "a"),
        (("*",), ("*",)),
        (("*", "a", ("*",)), ("*", "a", ("*",))),
        ((";", "a", (";", "skip", "b")), (";", "a", "b")),
        ((".", ("f", (".", 1, 2)), (".", 3, 4)), (".", ("f", (".", 1, 2)), 3, 4)),
        (("c", 1, ("c", 2, 1)), ("c", 1, ("c", 2, 1))),
        (("c", 1), ("c", 1)),
        (("d", ("d", "a", 0), "b"), ("d", "a", "b")),
        (("u", "a", ("u", "b", "a")), ("u", "a", "b")),
        (("u", "a", "a"), "a"),
        (("f", 1, 1), ("f", 1, 1)),
    ],
)
def test_forms(term, form):
    child = normal(term, THEORY)
    assert child is normal(form, THEORY) or child == form
    fresh = normal(term, THEORY.reading().fresh())
    if type(fresh) is Node:
        fresh.origin = None
    assert term_of(fresh) == form


def test_a_term_is_written_as_it_was_read():
    term = ("f", ("+", 2, ("+", 1, 0)), [1, {}])
    assert term_of(normal(term, THEORY)) is term


def test_a_node_knows_its_arguments_and_variables():
    node = normal(("+", x, 1, ("+", ("f", y), x)), THEORY)
    assert list(node.parts.values()) == [2, 1, 1] and list(node.parts)[:2] == [x, 1]
    assert node.args[:3] == (x, x, 1) and node.variables == {x, y} and not node.ground
    assert normal(("+", 2, 1), THEORY).ground


def test_carriers_do_not_mix():
    forms = [normal(t, THEORY) for t in (("+", 1, 2), ["+", 1, 2], etuple("+", 1, 2))]
    assert len(set(forms)) == 3
    assert [type(term_of(f)) for f in forms] == [tuple, list, type(etuple(1))]


def test_atoms_are_compared_by_equality_and_never_raise():
    class Stubborn:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise RuntimeError

    odd, array = Stubborn(), np.ones(3)
    assert normal(("+", odd, array, {}), THEORY) is normal(("+", {}, array, odd), THEORY)
    assert normal(("+", array, 1), THEORY) is not normal(("+", np.ones(3), 1), THEORY)
    assert term_of(normal(array, THEORY)) is array
    nan = float("nan")
    assert normal(("f", nan), THEORY) is normal(("f", nan), THEORY)
    assert normal(("+", 1.0, 2), THEORY) is normal(("+", 2, True), THEORY)


def test_a_head_that_is_not_known_is_the_first_argument_until_it_is():
    node = normal((x, 1, 2), THEORY)
    assert node.args == (x, 1, 2)
    assert make(node.symbol, ["+", 1, 2]) is normal(("+", 1, 2), THEORY)
    assert normal((("+", 1, 2), 3), THEORY) is normal((("+", 2, 1), 3), THEORY)


def test_nodes_die_with_their_last_use():
    symbol = symbol_of(normal(("*", 1, 2), THEORY).symbol.carrier, "*", THEORY.reading())
    gc.collect()
    before = len(symbol.nodes)
    node = bag(symbol, {"p": 1, "q": 2})
    assert len(symbol.nodes) == before + 1
    del node
    assert len(symbol.nodes) == before


def test_shared_subterms_are_read_once():
    t = "a"
    for _ in range(5000):
        t = ("+", t, t)
    assert normal(t, THEORY).parts == {"a": 2**5000}
    leaf = relgrad.symbol("t", (3,)).term
    t = leaf
    for i in range(5000):
        t = (add, multiply)[i % 2](t, t)
    assert normal(t, DECLARED) is normal(t, DECLARED)
    assert list(normal(t, DECLARED).parts.values()) == [2]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("head", ["+", ".", "f"])
def test_depth_is_no_obstacle(head):
    t = u = "a"
    for i in range(30_000):
        t, u = (head, t, i + 1), (head, i + 1, u)
    node = normal(t, THEORY)
    assert len(node.args) == (2 if head == "f" else 30_001)
    assert (normal(u, THEORY) is node) == (head == "+")


def test_a_ground_answer_is_a_plain_tuple_that_is_not_walked():
    answer = term_of(make(normal(("*", 1, 2), THEORY).symbol, [3, 4, 5]))
    assert (
        answer == ("*", 3, 4, 5) and repr(answer) == "('*', 3, 4, 5)" and hash(answer) == hash(("*", 3, 4, 5))
    )
    assert type(answer) is GroundTuple and reify(answer, {x: 1}) is answer
    assert type(answer[1:]) is tuple and type((*answer,)) is tuple
    expression = term_of(make(normal(etuple("*", 1, 2), THEORY).symbol, [3, 4]))
    assert expression == etuple("*", 3, 4) and str(expression) == str(etuple("*", 3, 4))
    longer = expression + (x,)  # noqa: RUF005 - the addition is what is tested
    assert reify(longer, {x: 1}) == etuple("*", 3, 4, 1)


# Ops


def test_the_identity_of_an_op_is_a_scalar_that_leaves_the_dtype_alone():
    f, i = relgrad.symbol("f", (3,)).term, relgrad.symbol("i", (3,), "int64").term
    b = relgrad.symbol("b", (3,), "bool").term

    def collapses(op, *rands) -> bool:
        t = normal(op(*rands), DECLARED)
        return type(t) is not Node

    assert (
        collapses(add, f, constant(0))
        and collapses(add, f, constant(0.0))
        and collapses(multiply, f, constant(1))
    )
    assert not collapses(add, i, constant(0.0)) and collapses(add, i, constant(0))
    assert not collapses(add, f, constant(np.zeros((2, 3))))
    assert collapses(maximum, f, constant(-np.inf)) and not collapses(maximum, i, constant(-np.inf))
    assert collapses(logical_and, b, constant(True)) and not collapses(logical_and, f, constant(1.0))


def test_zero_stays_beside_a_negative_zero():
    symbol = normal(add(*[relgrad.symbol(n, ()).term for n in "pq"]), DECLARED).symbol
    zero, minus, three = constant(0.0), constant(-0.0), constant(3.0)
    assert make(symbol, [zero, three]) is three
    assert make(symbol, [minus, three]) is three
    assert make(symbol, [zero, minus]) is make(symbol, [minus, zero]) is zero
    assert make(symbol, [minus, minus]) is minus
    assert make(symbol, [constant(0), minus]).parts == {constant(0): 1, minus: 1}


def test_terms_are_written_by_their_op():
    p, q, r = (relgrad.symbol(n, (3,)).term for n in "pqr")
    t = add(p, add(q, r))
    node = normal(t, DECLARED)
    assert term_of(node) is t
    assert term_of(make(node.symbol, [r, q, p, r])) is add(add(add(r, r), q), p)
    assert term_of(make(node.symbol, [x, q, p])).op is add


# Laws and theories


@pytest.mark.parametrize(
    ("laws", "text"),
    [
        ({"identity": 1.0, "absorbing": 1.0}, "the identity of an op is also absorbing: 1.0"),
        (
            {"associative": True, "inverse": "g"},
            "an associative or commutative op has an inverse function: 'g'",
        ),
        (
            {"commutative": True, "idempotent": True, "inverse": "g"},
            "an associative or commutative op has an inverse function: 'g'",
        ),
        ({"monotone": 2}, "monotone=2 is no direction"),
        ({"linear": (0, -1)}, "linear=(0, -1) names no operands"),
    ],
)
def test_laws_that_contradict_each_other_are_refused(laws, text):
    with pytest.raises(LawError) as caught:
        Laws(**laws)
    assert caught.value.what == text and caught.value.cure


def test_idempotence_needs_sets():
    theory = Theory({"f": Laws(associative=True, idempotent=True), "g": Laws(idempotent=True, identity=0)})
    with pytest.raises(
        LawError, match="'f' cannot be matched: idempotent, but not associative and commutative"
    ):
        normal(("f", 1, 2), theory)
    assert normal(("g", 1, 1), theory).args == (1, 1)


def test_one_identity_that_is_an_atom():
    fact(associative, "h")
    fact(identity, "h", 0)
    fact(identity, "h", 1)
    with pytest.raises(LawError, match="'h' has several identities: 0, 1"):
        normal(("h", 1, 2), DECLARED)
    with pytest.raises(LawError, match="the identity of 'k' is a term"):
        normal(("k", 1, 2), Theory({"k": Laws(commutative=True, identity=("zero", 1))}))


def test_facts_are_read_at_the_time_of_use():
    u, v = ("join", 1, ("join", 3, 2)), ("join", 1, 2, 3)
    assert normal(u, DECLARED) is not normal(v, DECLARED)
    fact(associative, "join")
    fact(commutative, "join")
    assert normal(u, DECLARED) is normal(v, DECLARED)
    fact(identity, "join", 3)
    fact(idempotent, "join")
    assert normal(("join", 1, 3, 1), DECLARED) == 1
    assert normal(("join", 1, 3, 1), AC) is normal(("join", 3, 1, 1), AC)
    assert normal(u, FREE) is not normal(v, FREE)
    assert normal(u, Theory(facts=False)) is not normal(v, Theory(facts=False))


def test_declared_laws_and_facts_add_up_and_given_ones_replace_them():
    p, q = (relgrad.symbol(n, (3,)).term for n in "pq")
    assert normal(add(p, q), DECLARED) is normal(add(q, p), DECLARED)
    assert normal(add(p, q), Theory(declared=False)) is not normal(add(q, p), Theory(declared=False))
    fact(idempotent, add)
    assert normal(add(p, p), DECLARED) is p
    assert normal(add(p, p), Theory({add: JOIN})) is not p


def test_machine_numbers_of_other_kinds_are_not_regrouped():
    b, c, i, j = (
        as_term(relgrad.symbol(n, (), d))
        for n, d in zip("bcij", ["bool", "bool", "int64", "int64"], strict=True)
    )
    grouped = add(add(b, c), i)
    assert normal(grouped, DECLARED) is normal(add(i, add(c, b)), DECLARED)
    assert normal(grouped, DECLARED) is not normal(add(b, add(c, i)), DECLARED)
    assert normal(add(grouped, j), DECLARED) is normal(add(j, grouped), DECLARED)
    assert normal(add(grouped, j), DECLARED) is not normal(add(add(b, c), add(i, j)), DECLARED)
    assert normal(add(b, add(c, i)), DECLARED) is normal(add(c, add(b, i)), DECLARED)
