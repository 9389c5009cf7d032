"""Where a term may be other than zero: never too small a part of it, and enough of it to stop empty cotangents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relgrad as rg
from relgrad.interpret import interpret
from relgrad.leaf import Input
from relgrad.op import as_term
from relgrad.ops.gather import Scatter
from relgrad.support import vanishes
from relgrad.term import Term, kept, term
from relgrad.trace.tracer import Tracer
from relgrad.types import array_type

MASKS = (
    np.array([0.0, 0.0, 1.0]),
    np.zeros(3),
    np.eye(3),
    np.array([[0.0], [2.0], [0.0]]),
    np.zeros((1, 3)),
)
"""Constants some of whose entries are zero, of shapes that broadcast together."""


STEPS = (
    lambda x, m: x * m,
    lambda x, m: x + m,
    lambda x, m: m - x,
    lambda x, m: x / (2 + m),
    lambda x, m: np.sin(x) * m,
    lambda x, m: np.where(m > 0, x, 0.0),
    lambda x, m: x[..., 1:2],
    lambda x, m: x[..., ::-1],
    lambda x, m: x[..., np.array([2, 0, 0])],
    lambda x, m: Scatter((1,), (3, 3))(x[0] if x.ndim == 2 else x),
    lambda x, m: np.sum(x, axis=0, keepdims=True),
    lambda x, m: x - x.mean(axis=-1, keepdims=True),
    lambda x, m: np.concatenate([x, m * x], axis=-1)[..., 3:],
    lambda x, m: np.eye(3)[:, :1] @ np.ones((1, 3)) @ np.broadcast_to(x, (3, 3)),
    lambda x, m: np.einsum("ij,jk->ki", np.diag([0.0, 1.0, 0.0]), np.broadcast_to(x, (3, 3))),
    lambda x, m: np.cumsum(x, axis=-1),
    lambda x, m: np.cos(x),
    lambda x, m: x.T,
)


def support(t: Term) -> np.ndarray:
    """Return the support of a term, all of it where nothing is known."""
    vanishes(t)
    found = kept(t, "support", lambda node: None)
    return np.ones(t.type.shape, bool) if found is None else found


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(MASKS)), max_size=6), st.integers(0, 99))
def test_no_entry_outside_the_support_is_other_than_zero(steps, seed):
    x = term(Input("x", array_type(np.dtype(float), (3,))))
    t = Tracer(x)
    for step, mask in steps:
        try:
            t = step(t, mask)
        except (ValueError, IndexError):  # shapes that do not fit
            continue
    (value,) = interpret([as_term(t)], {x: np.random.default_rng(seed).normal(size=3)})
    assert support(as_term(t)).shape == value.shape
    assert not np.any(value[~support(as_term(t))])


@pytest.mark.parametrize("how", ["default", "naive"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.append(x, np.sqrt(abs(x[1])))[0],
        lambda x: np.concatenate([x, np.log(x)]).reshape(2, 2)[0] @ np.array([3.0, 1.0]),
        lambda x: 3 * x[0] + x[1] + np.sqrt((np.zeros((2, 2)) @ x)[1]),
        lambda x: 3 * x[0] + x[1] + np.einsum("ij,j->i", np.zeros((2, 2)), np.sqrt(x)).sum(),
        lambda x: np.stack([x, x**0.5, 1 / x])[0] @ np.array([3.0, 1.0]),
    ],
)
def test_nothing_flows_back_from_what_is_not_used(f, how):
    """0·∞ does not arise where an entry with an infinite slope is left out."""
    x = np.array([2.0, 0.0])
    with np.errstate(all="ignore"):
        want = [1.0, 0.0] if f(np.array([1.0, 1.0])) == 1.0 else [3.0, 1.0]
        assert rg.grad(f, strategy=how)(x).tolist() == want
        assert rg.jvp(f, (x,), (np.array([0.0, 1.0]),), strategy=how)[1] == want[1]
