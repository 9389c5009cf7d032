"""The laws of terms: identity, constants told apart, the weak table, threads, and depth."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from relgrad.leaf import Input
from relgrad.op import constant
from relgrad.ops.exponential import exp
from relgrad.ops.structure import squeeze
from relgrad.ops.trigonometric import sin
from relgrad.term import intern_table_size, rebuild, substitute, subterms, term
from relgrad.types import array_type

x = term(Input("x", array_type("float64", (3,))))


def test_equal_terms_are_one_object():
    assert exp(sin(x)) is exp(sin(x))
    assert exp(x) is not sin(x)
    assert hash(exp(x)) == hash(exp(x))
    assert exp(x) == exp(x)
    assert exp(x) != sin(x)


def test_a_term_survives_copying():
    t = exp(sin(x))
    assert copy.copy(t) is t
    assert copy.deepcopy(t) is t
    assert pickle.loads(pickle.dumps(constant(2.5))) is constant(2.5)


@pytest.mark.parametrize(
    "pair", [(0.0, -0.0), (1, True), (1, 1.0), (np.float32(1), np.float64(1)), (1.0, [1.0])]
)
def test_constants_that_python_would_merge_are_kept_apart(pair):
    a, b = (constant(np.asarray(v)) if isinstance(v, list) else constant(v) for v in pair)
    assert a is not b


def test_nan_is_itself():
    assert constant(float("nan")) is constant(np.nan)
    payload = np.frombuffer(np.uint64(0x7FF8000000000001).tobytes(), dtype=np.float64)[0]
    assert constant(np.float64(payload)) is not constant(np.float64("nan"))


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=3)))
def test_constants_are_keyed_by_their_bits(value):
    assert constant(value) is constant(value.copy())
    changed = value.copy()
    changed.flat[0] = (
        changed.flat[0] + 1 if np.isfinite(changed.flat[0]) and abs(changed.flat[0]) < 1e15 else 0.5
    )
    assert constant(value) is not constant(changed)


def test_a_constant_does_not_follow_its_array():
    value = np.zeros(3)
    c = constant(value)
    value[0] = 1
    assert c.op.value[0] == 0


def test_large_constants_are_keyed_by_identity():
    value = np.zeros(100_000)
    assert constant(value) is constant(value)
    assert constant(value) is not constant(value.copy())


@pytest.mark.parametrize("n", [30_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_temporary_terms_leave_the_table_empty(n):
    gc.collect()
    before = intern_table_size()
    t = x
    for i in range(n):
        t = exp.make_node(t) if i % 7 else exp.make_node(x)
    del t
    gc.collect()
    assert intern_table_size() <= before


def test_a_deep_chain_is_built_walked_and_dropped_without_recursion():
    t = x
    for _ in range(30_000):
        t = sin.make_node(t)
    assert sum(1 for _ in subterms(t)) == 30_001
    (changed,) = substitute([t], {x: exp(x)})
    assert sum(1 for _ in subterms(changed)) == 30_002
    assert "sin" in repr(t)


def test_threads_agree_on_terms():
    found = []

    def build():
        t = x
        for _ in range(2000):
            t = exp.make_node(sin.make_node(t))
        found.append(t)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


@given(st.integers(0, 2**30))
def test_subterms_come_after_their_operands(seed):
    rng = np.random.default_rng(seed)
    terms = [x]
    for _ in range(20):
        i, j = rng.integers(0, len(terms), 2)
        terms.append((np.random.default_rng(seed).choice([0, 1]) and exp(terms[i])) or sin(terms[j]))
    order = {t: i for i, t in enumerate(subterms(*terms))}
    assert all(order[rand] < order[t] for t in order for rand in t.rands)
    assert set(order) == set(terms) | {x}


def test_rebuilding_without_change_returns_the_same_objects():
    t = exp(sin(x))
    assert rebuild([t], lambda old, rands: term(old.op, *rands)) == [t]


def test_below_what_is_replaced_nothing_is_made_again():
    """[squeeze(m)], {m: z, squeeze(m): w} → [w]: a squeeze of z, which has no axes, is not asked for."""
    shapes = {"m": (3, 1), "z": (), "w": (3,)}
    m, z, w = (term(Input(name, array_type("float64", shape))) for name, shape in shapes.items())
    inner = squeeze(m, (-1,))
    assert substitute([exp(m), inner], {m: z, inner: w}) == [exp(z), w]


def test_an_operand_must_be_a_term():
    with pytest.raises(TypeError, match="an operand must be a term or a logic variable, not float"):
        term(exp, 1.0)
