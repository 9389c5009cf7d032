"""A row is answered alike alone and in company: rows of other scales, zeros, infinities and NaN do not reach it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from row_programs import differences, program

import relgrad as rg
from relgrad.compile.guards import is_rowwise
from relgrad.dependence import labels_of
from relgrad.trace.trace import trace

SAMPLE, BATCH = 384, 16
LEFT_OPEN = {
    30: "exp(1.8e90) is beyond extended range",
    166: "1/std of equal numbers: 0 alone, NaN in company",
}
"""Seeds of programs of which a row is answered differently, and why."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_rows_are_answered_as_by_themselves(first: int):
    seeds = [seed for seed in range(first, first + BATCH) if seed not in LEFT_OPEN]
    assert not [text for seed in seeds for text in differences(seed)]


def test_a_seed_names_a_program():
    one, other = program(3), program(3)
    assert one.text == other.text
    np.testing.assert_array_equal(one.rows, other.rows)


@pytest.mark.parametrize(
    ("fun", "rowwise"),
    [
        (lambda x, y, w: x / x.sum(-1, keepdims=True) + y[:, None] * w, True),
        (lambda x, y, w: np.cumprod(x, -1) @ w, True),
        (lambda x, y, w: np.sort(x, -1)[:, ::-1].max(-1) - y, True),
        (lambda x, y, w: np.where(x > 0, x, np.arange(4.0)[:, None]).prod(-1), True),
        (lambda x, y, w: np.stack([x, 2 * x], 1).reshape(4, 6), True),
        (lambda x, y, w: x * np.cumsum(w) + np.exp(x - x.max(-1, keepdims=True)) / np.exp(w).sum(), True),
        (lambda x, y, w: x / x.sum(), False),
        (lambda x, y, w: x[::-1], False),
        (lambda x, y, w: x @ x.T, False),
        (lambda x, y, w: np.cumsum(y), False),
        (lambda x, y, w: x.sum(-1) * y[::-1], False),
        (lambda x, y, w: x.sum(), False),
        (lambda x, y, w: np.sum(x * y[:, None], 0), False),
    ],
    ids=range(13),
)
def test_rows_depend_on_rows(fun: Callable[..., Any], rowwise: bool):
    traced = trace(fun, (np.ones((4, 3)), np.ones(4), np.ones(3)))
    assert is_rowwise(traced.outputs, traced.inputs) is rowwise


def test_labels_follow_entries():
    traced = trace(lambda x: (x.T, x - x.sum(-1, keepdims=True), np.concatenate([x, x])), (np.ones((2, 3)),))
    rows = np.array([[1, 1, 1], [2, 2, 2]])
    found = labels_of(traced.outputs, {traced.inputs[0]: rows})
    assert found is not None
    for x, expected in zip(found, (rows.T, rows, np.concatenate([rows, rows])), strict=True):
        np.testing.assert_array_equal(x, expected)
    assert labels_of([trace(np.sum, (np.ones((2, 3)),)).outputs[0]], {}) is not None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, 1e300])
def test_rows_that_are_left_open_leave_no_others_open(bad: float):
    def angle(x: Any) -> Any:
        y = np.cumprod(np.roll(x * x.min(-1, keepdims=True), 1, -1), -1)
        return np.sum(np.exp(-np.abs(np.arctan2(y.max(-1), y.sum(-1)))))

    curvature = rg.grad(lambda x: np.sum(rg.grad(angle)(x)))
    row = np.array([9.5e-91, -8.7e-91, -2.4e-91])
    found = curvature(np.array([row, [bad, 1e-20, -1e-20], [bad, bad, bad]]))
    np.testing.assert_allclose(found[0], curvature(row[None])[0], rtol=1e-12)
    np.testing.assert_allclose(found[0], [np.exp(-np.pi / 4) / 2] * 2 + [0], rtol=1e-12)


def test_what_is_undefined_in_one_row_does_not_reach_rows_that_overflow():
    f = rg.grad(lambda x: np.sum(np.log(np.prod(np.cumprod(x + x, -1), -1) ** 2)))
    rows = np.array([[1e160, 1e160], [np.nan, 1]])
    np.testing.assert_allclose(f(rows)[0], f(rows[:1])[0], rtol=1e-14)
    assert np.isnan(f(rows)[1]).all()


@pytest.mark.parametrize(
    "fun",
    [
        lambda s: np.log(np.sum(s * s, -1)),
        lambda s: np.sum(np.exp(s) * s, -1),
        lambda s: np.sum(s**3, -1) / np.sum(s * s, -1) ** 1.5,
    ],
    ids=["log Σ p²", "Σ p·eᵖ", "skewness"],
)
def test_pullbacks_of_shares_and_directions_are_watched(fun: Callable[..., Any]):
    def of_shares(x: Any) -> Any:
        e = np.exp(np.tanh(x))
        return np.sum(fun(e / e.sum(-1, keepdims=True)))

    near, far = np.array([1.2e-9, -3.4e-10, 7.1e-10]), np.array([1.0, -1.0, 2.0])
    slope = rg.grad(of_shares)
    np.testing.assert_allclose(slope(np.array([near, far]))[0], slope(near[None])[0], rtol=1e-7)
