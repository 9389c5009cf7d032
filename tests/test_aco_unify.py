"""Unification modulo declared laws: how many unifiers, that they are unifiers, and that none is missing."""

import random
import re
import warnings
from itertools import islice, product

import pytest
from counting import calls
from maude_process import Maude
from unification import var

from relgrad.contract import Laws
from relgrad.errors import OutOfFuel
from relgrad.leaf import Input
from relgrad.logic.aco.equation import Names, apply, cycle, tidy
from relgrad.logic.aco.node import same, term_of, variables_in
from relgrad.logic.aco.normal import normal
from relgrad.logic.aco.theory import DECLARED, Theory
from relgrad.logic.aco.unify import LOOK_AHEAD, is_instance, minimal, unify
from relgrad.logic.unify import fresh, label_of
from relgrad.op import constant
from relgrad.ops.arithmetic import add, multiply
from relgrad.ops.exponential import exp
from relgrad.term import term
from relgrad.types import array_type


def joining(**laws):
    return Laws(associative=True, commutative=True, **laws)


THEORY = Theory(
    {
        "+": joining(),
        "*": joining(identity="e"),
        "&": joining(identity="o"),
        "|": joining(idempotent=True),
        "u": joining(idempotent=True, identity="o"),
        "c": Laws(commutative=True),
        "d": Laws(commutative=True, identity="e"),
        ".": Laws(associative=True),
        "m": Laws(associative=True, identity="e"),
    }
)
READING = THEORY.reading()
ARITY = {"f": 1, "g": 2, "c": 2, "d": 2}
VARIABLES = {name: var(name) for name in "xyzw"} | {f"{s}{i}": var(f"{s}{i}") for s in "xy" for i in range(5)}


def read(t):
    """Read a nested tuple of strings; x, y, z, w, x0 … y4 are variables."""

    def translated(t):
        return (t[0], *map(translated, t[1:])) if isinstance(t, tuple) else VARIABLES.get(t, t)

    return normal(translated(t), READING)


def unifiers(u, v, fuel=None):
    """Return the unifiers of two nested tuples, each of which is checked."""
    u, v = read(u), read(v)
    found = list(unify(u, v, {}, fuel))
    for s in found:
        assert same(apply(u, s), apply(v, s))
    return found


def count(u, v):
    return len(unifiers(u, v))


def row(head, letter, n):
    return (head, *(f"{letter}{i}" for i in range(n)))


# Known numbers


@pytest.mark.parametrize("n, expected", [(1, 1), (2, 7), (3, 265)])
def test_variables_a_side_modulo_ac(n, expected):
    assert count(row("+", "x", n), row("+", "y", n)) == expected


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_variables_a_side_modulo_acu_have_one_unifier(n):
    assert count(row("*", "x", n), row("*", "y", n)) == 1


@pytest.mark.parametrize(
    "u, v, expected",
    [
        # x + x = y + z, x + x = y + y + y
        (("+", "x", "x"), ("+", "y", "z"), 5),
        (("+", "x", "x"), ("+", "y", "y", "y"), 1),
        # Constants: x = b (+ z), y = a (+ z)
        (("+", "x", "a"), ("+", "y", "b"), 2),
        (("*", "x", "a"), ("*", "y", "b"), 1),
        (("+", "x", "a"), ("+", "y", "a"), 1),
        (("+", "a", "b"), ("+", "x", "x"), 0),
        (("+", "a", "a"), ("+", "x", "x"), 1),
        # What stands on both sides is cancelled.
        (("+", "x", "y"), ("+", "x", "z"), 1),
        (("*", "x", "y"), ("*", "x", "z", "w"), 1),
        # Aliens meet, or are summands of variables.
        (("+", "x", ("f", "y")), ("+", "z", ("f", "w")), 3),
        (("+", ("f", "x"), ("f", "y")), ("+", ("f", "a"), ("f", "b")), 2),
        (("f", ("+", "x", "y")), ("f", ("+", "z", "w")), 7),
        # An alien may collapse: x·y is one factor, or x, or y.
        (("&", "x", ("*", "y", "z")), ("&", "w", "a"), 3),
        # Commutative only.
        (("c", "x", "y"), ("c", "z", "w"), 2),
        (("c", "x", "y"), ("c", "a", "a"), 1),
        (("d", "x", "y"), ("d", "a", "b"), 4),
        # Words and sets.
        ((".", "x", "y"), (".", "z", "w"), 3),
        (("m", "x", "y"), ("m", "z", "w"), 2),
        ((".", "x", "a"), (".", "b", "x"), 0),
        (("u", "x", "y"), ("u", "z", "w"), 1),
        (("|", "x", "y"), ("|", "x", "y"), 1),
        (("|", "x", "a"), ("|", "y", "a"), None),
    ],
)
def test_numbers_of_most_general_unifiers(u, v, expected):
    found = unifiers(u, v)
    variables = variables_in(read(u), read(v))
    assert minimal(found, variables, READING) == found
    assert expected is None or len(found) == expected


def test_four_and_five_variables_a_side_come_lazily():
    for n in (4, 5):
        found = list(islice(unify(read(row("+", "x", n)), read(row("+", "y", n)), {}), 500))
        assert len({frozenset(s.items()) for s in found}) == 500


# Cycles


@pytest.mark.parametrize(
    "u, v, expected",
    [
        ("x", ("+", "x", "y"), []),
        ("x", ("f", ("+", "x", "y")), []),
        ("x", ("+", "y", ("f", "x")), []),
        ("y", ("*", "x", "y"), [{"x": "e"}]),
        ("x", ("*", "x", "x"), [{"x": "e"}]),
        (("g", "x", "y"), ("g", ("+", "y", "z"), ("+", "x", "w")), []),
        (("g", "x", "y"), ("g", ("f", "y"), ("f", "x")), []),
        # x = y & x·z: one of the factors is the unit, or the product is, or collapses.
        ("x", ("&", "y", ("*", "x", "z")), [{"x": "e", "y": "e", "z": "o"}, {"y": "o", "z": "e"}]),
        # x = x ∪ y: y is a subset.
        ("x", ("u", "x", "y"), [{"x": ("u", "z1", "y")}]),
    ],
)
def test_a_variable_inside_its_value(u, v, expected):
    names = {z: name for name, z in VARIABLES.items()}

    def shown(t):
        if isinstance(t, tuple):
            return (t[0], *sorted(map(shown, t[1:])))
        return names.get(t) or (label_of(t) if t in variables_in(t) else t)

    found = [{names[x]: shown(term_of(value)) for x, value in s.items()} for s in unifiers(u, v)]
    expected = [
        {x: (t[0], *sorted(t[1:])) if isinstance(t, tuple) else t for x, t in s.items()} for s in expected
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_cycles_of_a_substitution():
    x, y, z = (VARIABLES[name] for name in "xyz")
    assert cycle([x], {x: read(("+", "y", "z")), y: read(("f", "z"))}) == []
    assert set(cycle([x], {x: read(("+", "y", "z")), y: z, z: read(("f", "y"))})) == {y, z}


# Properties


def random_term(rng, heads, depth, constants=("a", "b"), letters="xyz"):
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(letters) if rng.random() < 0.7 else rng.choice(constants)
    head = rng.choice(heads)
    arity = ARITY.get(head) or rng.choice([2, 2, 3])
    return (head, *[random_term(rng, heads, depth - 1, constants, letters) for _ in range(arity)])


def units_of(heads):
    return [unit for unit in (THEORY.laws_of(head).identity for head in heads) if unit is not None]


THEORIES = [
    "+f",
    "+gf",
    "*f",
    "*&",
    "+*c",
    "c*",
    "df",
    "d*f",
    "|f",
    "uf",
    "|u",
    "u*",
    "+|",
    ".f",
    "mf",
    ".+",
    "m*",
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("heads", THEORIES)
def test_unifiers_unify_and_are_minimal(heads):
    rng = random.Random(heads)
    constants = ["a", "b", *units_of(heads)]
    for _ in range(80):
        u, v = (random_term(rng, heads, 2, constants, "xyzw") for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutOfFuel)
            found = unifiers(u, v, fuel=1000)
        if not set(".m|u") & set(heads) and len(found) <= 20:
            assert len(minimal(found, variables_in(read(u), read(v)), READING)) == len(found)


def ground_terms(heads, constants):
    """Return constants, applications to constants, and one of greater depth."""
    found = [*constants]
    for head in heads:
        found += [(head, *args) for args in product(constants, repeat=ARITY.get(head, 2))]
    found.append((heads[0], *[found[-1]] * ARITY.get(heads[0], 2)))
    return list(dict.fromkeys(map(read, found)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("heads", THEORIES)
def test_every_ground_solution_is_an_instance_of_a_unifier(heads):
    rng = random.Random(heads)
    constants = list(dict.fromkeys(["a", "b", *units_of(heads)]))
    universe = ground_terms(heads, constants)
    solved = 0
    for _ in range(20):
        u, v = (random_term(rng, heads, 2, constants) for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutOfFuel)
            found = unifiers(u, v, fuel=1000)
        u, v = read(u), read(v)
        variables = sorted(variables_in(u, v), key=str)
        for values in product(universe, repeat=len(variables)):
            s = dict(zip(variables, values, strict=True))
            if same(apply(u, s), apply(v, s)):
                solved += 1
                assert any(is_instance(s, general, variables, READING) for general in found), (u, v, s)
    assert solved > 3


def test_equality_of_ground_children_is_identity():
    u, v = read(("+", "a", ("*", "b", "a"))), read(("+", ("*", "a", "b"), "a"))
    assert u is v
    assert list(unify(u, v, {})) == [{}]
    assert list(unify(u, read(("+", "a", "a")), {})) == []


# Peers

MAUDE = """fmod RELGRAD-UNIFY is sort S . ops a b e o : -> S . op f : S -> S . op g : S S -> S .
op + : S S -> S [assoc comm] . op * : S S -> S [assoc comm id: e] . op & : S S -> S [assoc comm id: o] .
op c : S S -> S [comm] . endfm"""


@pytest.mark.parametrize("heads", ["+f", "+gf", "*f", "*&", "+*cf", "c*"])
def test_as_many_unifiers_as_maude_and_each_of_its_is_an_instance(heads):
    pytest.importorskip("maude")
    maude = Maude(MAUDE, "RELGRAD-UNIFY")

    def written(t):
        if isinstance(t, tuple):
            return f"{t[0]}({', '.join(map(written, t[1:]))})"
        return f"{t}:S" if t in VARIABLES else t

    def reread(t):
        if isinstance(t, dict):
            name = t["variable"]
            return VARIABLES.get(name) or var(f"of Maude {re.sub('[^0-9]', '', name)}")
        head, *args = t
        return (head, *map(reread, args)) if args else head

    rng = random.Random(heads)
    for _ in range(80):
        u, v = (random_term(rng, heads, 2, ["a", "b", *units_of(heads)], "xyzw") for _ in range(2))
        ours = unifiers(u, v)
        theirs = [
            {VARIABLES[x]: normal(reread(t), READING) for x, t in s.items()}
            for s in maude.unify(written(u), written(v))
        ]
        variables = variables_in(read(u), read(v))
        assert all(any(is_instance(s, general, variables, READING) for general in ours) for s in theirs)
        assert len(ours) == len(theirs) or len(ours) > LOOK_AHEAD


# Search


def test_words_are_fair_and_end_with_a_warning():
    u, v = read((".", "x", "a")), read((".", "a", "x"))
    first = [term_of(s[VARIABLES["x"]]) for s in islice(unify(u, v, {}), 3)]
    assert first == ["a", (".", "a", "a"), (".", "a", "a", "a")]
    with pytest.warns(OutOfFuel, match="words may have infinitely many unifiers; give fuel for more"):
        everything = list(unify(u, v, {}))
    with pytest.warns(OutOfFuel, match="stopped after 10 steps of unification"):
        some = list(unify(u, v, {}, fuel=10))
    assert 5 <= len(some) < len(everything)


def test_an_equation_of_words_does_not_keep_another_from_being_solved():
    # The words have unifiers for ever, the sum has very many.
    u = ("g", (".", "x", "a"), row("+", "x", 5))
    v = ("g", (".", "a", "x"), row("+", "y", 5))
    u, v = read(u), read(v)
    found = list(islice(unify(u, v, {}), 200))
    assert all(same(apply(u, s), apply(v, s)) for s in found)
    assert len({s[VARIABLES["x"]] for s in found}) > 1
    assert len({tuple(s.get(VARIABLES[f"x{i}"]) for i in range(5)) for s in found}) > 1


def test_fuel_bounds_finite_problems_too():
    with pytest.warns(OutOfFuel):
        assert len(list(unify(read(row("+", "x", 4)), read(row("+", "y", 4)), {}, fuel=100))) == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(unify(read(("+", "x", "y")), read(("+", "z", "w")), {}, fuel=100))) == 7


def test_bindings_are_honoured_and_left_alone():
    x, y, z = (VARIABLES[name] for name in "xyz")
    s = {x: read(("+", "a", "y"))}
    found = list(unify(x, read(("+", "z", "b")), s))
    assert s == {x: read(("+", "a", "y"))}
    assert len(found) == 2
    assert all(answer[x] is s[x] and answer.keys() >= {x, y, z} for answer in found)
    assert list(unify(x, read(("+", "y", "b")), {x: read(("+", "y", "a"))})) == []


def test_new_variables_are_few_and_numbered():
    for u, v in [(("*", "x", "y"), ("*", "z", "w")), (row("+", "x", 3), row("+", "y", 3))]:
        old = variables_in(read(u), read(v))
        for s in unifiers(u, v):
            new = variables_in(*s.values()) - old
            assert {label_of(z) for z in new} == {f"z{i + 1}" for i in range(len(new))}
            # No variable is only renamed, and none that is bound stands in a value.
            assert not any(value in new for value in s.values())
            assert not s.keys() & variables_in(*s.values())


def test_tidy_prefers_the_variables_of_the_question():
    x, y, z, new = VARIABLES["x"], VARIABLES["y"], fresh("internal"), fresh("internal")
    s = {x: new, new: z, y: read(("+", "a", "b"))}
    assert tidy(s, [x, y], Names()) == {y: read(("+", "a", "b"))}


# Size


def doubled(leaf, levels, reading):
    t = leaf
    for _ in range(levels):
        t = exp(add(t, t))
    return normal(t, reading)


@pytest.mark.parametrize("theory", [DECLARED, Theory(declared=False)])
def test_shared_terms_are_unified_in_linear_time(theory):
    reading = theory.reading()
    x, y = var(), var()
    work = []
    for levels in (500, 1000):
        u, v = doubled(x, levels, reading), doubled(y, levels, reading)
        work.append(calls(lambda u=u, v=v: list(unify(u, v, {}))))
        assert len(list(unify(u, v, {}))) == 1
    assert work[1] < 2.5 * work[0]


def test_many_ground_summands_are_no_depth():
    n = 5_000
    ground = [f"k{i}" for i in range(n)]
    u, v = read(("+", "x", ("f", "y"))), read(("+", "z", ("f", "w"), *ground))
    s = next(unify(u, v, {}))
    assert same(apply(u, s), apply(v, s))


# Terms of ops

FLOATS, INTEGERS, TRUTHS = (
    term(Input(name, array_type(dtype, (3,))))
    for name, dtype in [("p", "float64"), ("i", "int64"), ("b", "bool")]
)


def term_unifiers(u, v):
    reading = DECLARED.reading()
    u, v = normal(u, reading), normal(v, reading)
    found = list(unify(u, v, {}))
    assert all(same(apply(u, s), apply(v, s)) for s in found)
    return [{x: term_of(value) for x, value in s.items()} for s in found]


def test_terms_have_identities():
    x, y, z, w = (var() for _ in range(4))
    assert len(term_unifiers(multiply(x, y), multiply(z, w))) == 1
    found = term_unifiers(add(multiply(x, y), z), add(w, FLOATS))
    assert len(found) == 3
    assert sum(s.get(x) is constant(1) or s.get(y) is constant(1) for s in found) == 2


def test_what_was_read_before_and_stays_grouped_is_no_hindrance():
    x, y, z, w = (var() for _ in range(4))
    normal(add(add(TRUTHS, TRUTHS), INTEGERS), DECLARED)
    assert len(term_unifiers(add(multiply(x, y), z), add(w, FLOATS))) == 3


def test_a_unit_that_would_change_a_dtype_is_none():
    x, y = var(), var()
    # 0 + b is an integer array, so it is not b.
    assert term_unifiers(add(x, y), add(TRUTHS, TRUTHS)) == [{x: TRUTHS, y: TRUTHS}]
    assert {x: constant(0), y: add(INTEGERS, INTEGERS)} in term_unifiers(add(x, y), add(INTEGERS, INTEGERS))
