"""Ordinary programs come out as NumPy has them; and the judge of that finds what is made wrong on purpose."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ordinary_programs import Program, faults, program

import relgrad as rg

SAMPLE, BATCH = 48, 4


@pytest.mark.sampled(8)
@pytest.mark.parametrize("first", range(0, SAMPLE, BATCH))
def test_random_programs_are_those_of_numpy(first):
    for number in range(first, first + BATCH):
        case = program(("sample", number))
        found = list(faults(case, number, further=number % 8 == 0, validate=False))
        assert not found, f"{case.text}\n{[x.shape for x in case.arrays]}\n{found}"


def test_a_seed_names_a_program():
    assert program(7).text == program(7).text
    assert all(map(np.array_equal, program(7).arrays, program(7).arrays))
    assert len({program(n).text for n in range(50)}) > 40


def _program(body: str, *shapes: tuple[int, ...]) -> Program:
    draw = np.random.default_rng(0)
    names = ", ".join(f"x{i}" for i in range(len(shapes)))
    return Program(f"def f({names}):\n    return {body}", tuple([draw.normal(size=s) for s in shapes]))


@rg.relation(source="wrong on purpose")
def sum_of_products_without_count(x, y, axis):
    """A sum of sums that forgets how often the second is counted."""
    return np.sum(x + y, axis=axis, keepdims=True), np.sum(x, axis=axis, keepdims=True) + y


@rg.relation(source="wrong on purpose")
def tanh_of_sum(x, y):
    """A function taken for a linear one."""
    return np.tanh(x + y), np.tanh(x) + np.tanh(y)


@pytest.mark.parametrize(
    ("row", "body"),
    [
        (sum_of_products_without_count, "(x0 + x1[0]).sum(axis=-1, keepdims=True)"),
        (tanh_of_sum, "np.tanh(x0 + x1)"),
    ],
)
def test_the_judge_finds_wrong_rows(row, body):
    case = _program(body, (3, 4), (3, 4))
    assert not list(faults(case, 0))
    assert list(faults(case, 0, relations=rg.Library([row])))


def test_the_judge_leaves_alone_what_floats_cannot_tell():
    case = _program("(1e12 + x0) - 1e12", (3,))
    assert not list(faults(case, 0))


def test_the_judge_tells_what_raises():
    case = _program("float(x0.sum()) * x0", (3,))
    assert all("raises TraceError" in fault for fault in faults(case, 0))
    assert list(faults(case, 0))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("np.exp(x0.std())*np.outer(x0, x0)", (1,)),
        (
            "(lambda t: t/(t.sum()*t.sum(axis=-1)))(2*np.exp(x0).sum(axis=(-2, -1)))*np.exp(x0).sum()",
            (1, 2, 3),
        ),
        ("(lambda t: t*(t/(t.sum()*t.sum(axis=-1))).sum(axis=0))(np.exp(x0).sum(axis=(-2, -1)))", (1, 2, 3)),
        ("(lambda t: t - np.log(np.exp(t).sum(axis=-1, keepdims=True)))(x0.std(axis=-1))", (2, 3, 1)),
        ("np.exp(np.stack([x0, x0]))[..., None]*np.exp(np.linalg.norm(np.stack([x0, x0]) + 0.1))", (1,)),
        (
            "(lambda t: np.sqrt(t/(t + 1))/np.sqrt(t/(t + 1)).sum(axis=0, keepdims=True))"
            "((lambda t: (t/t.sum(axis=(0, -1))).mean(axis=0))(np.exp(-(x0[..., None] - x0)**2)).reshape(-1, 1))",
            (3,),
        ),
    ],
)
def test_programs_that_extents_of_one_once_made_raise_or_nan(body, shape):
    case = _program(body, shape)
    assert not list(faults(case, 0, further=True, validate=True))


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_a_third_outside_of_a_sum_leaves_no_rounding_inside(strategy: str):
    x, y = 1e-6, np.array([0.3, 0.5, 0.45])
    f = rg.stabilize(lambda x, y: np.mean(y) - np.cos(x) * np.mean(y), strategy=strategy, precise=False)
    assert f(x, y) == pytest.approx(2 * np.sin(x / 2) ** 2 * np.mean(y), rel=1e-15)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.exp(x[:0]) / np.sum(np.exp(x[:0]))) + x,
        lambda x: np.prod(1 + x[:0]) * x,
        lambda x: np.prod(np.broadcast_to(x, (2, 2)), axis=-1) ** x,
        lambda x: np.prod(np.broadcast_to(x[:1], (2, 3)), axis=-1, keepdims=True) ** (x - 1),
        lambda x: np.log(x - x + np.power(x - x, x - x) * np.exp(x)),
        lambda x: np.log(np.exp(x) / np.sum(np.exp(np.broadcast_to(x, (3, 2))))),
    ],
)
def test_entries_that_are_repeated_or_none(f: Callable[[Any], Any], strategy: str):
    x = np.array([0.7, 0.4])
    np.testing.assert_allclose(rg.stabilize(f, strategy=strategy)(x), f(x), rtol=1e-14)
    flow = rg.grad(lambda x: np.sum(f(x) ** 2), strategy=strategy)
    steps = 1e-6 * np.eye(2)
    want = [np.sum(f(x + h) ** 2 - f(x - h) ** 2) / 2e-6 for h in steps]
    np.testing.assert_allclose(flow(x), want, rtol=1e-7)


def _eikonal(a: Any, b: Any, s: Any) -> Any:
    gap = 1 / a - b
    return gap - np.sqrt(s - gap**2)


SIGNED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a root of what is taken from a square": (_eikonal, (1.3, 1.1, 3.0)),
    "the root of a negative weight": (
        lambda x, m: np.sqrt(-x * (1 + np.exp(-m)) ** 2) / np.sqrt(2 + x * (1 + np.exp(-m)) ** 2),
        (-0.7, 1.3),
    ),
    "the root of two negative weights": (
        lambda x, m: np.sqrt(3 * x * (x - 1) * np.square(1 + np.exp(m))) / (2 + np.exp(m)),
        (-0.7, 1.3),
    ),
    "an entry in the domain of others": (
        lambda x: np.arccos(((1 - x) * (1 + x))[0]),
        (np.array([0.4, 1.7]),),
    ),
    "the root of what may vanish": (
        lambda x: np.sqrt(x * np.array([0.0, 2.0]) ** 2 * np.array([1.0, -1.0])),
        (np.array([-0.7, -0.3]),),
    ),
    "zero to a power": (lambda x: np.power(1 + np.array([-1.0, 1.0]), x) ** 2, (0.6,)),
}


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize("name", SIGNED)
def test_roots_keep_signs_and_entries_their_domains(name: str, strategy: str):
    f, x = SIGNED[name]
    np.testing.assert_allclose(rg.stabilize(f, strategy=strategy, validate=False)(*x), f(*x), rtol=1e-14)
    slope = rg.grad(lambda *x: np.sum(f(*x)), strategy=strategy, validate=False)(*x)
    with np.errstate(all="ignore"):
        want = [
            np.sum(f(x[0] + h, *x[1:]) - f(x[0] - h, *x[1:])) / 2e-6 for h in 1e-6 * np.eye(np.size(x[0]))
        ]
    np.testing.assert_allclose(np.ravel(slope), np.ravel(want), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_masks_that_hide_everything_have_axes_inserted(strategy: str):
    def f(x: Any) -> Any:
        small = np.exp(x - x.max())
        large = np.log(1 + np.exp(small))
        return np.sum(large * np.log(large / small))

    x = np.array([0.4, -1.0, 0.3, -0.2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope = rg.grad(f, strategy=strategy)(x)
    np.testing.assert_allclose(slope, rg.grad(f, strategy="naive")(x), rtol=1e-9)


@pytest.mark.parametrize("strategy", ["default", "eager"])
@pytest.mark.parametrize(
    "inner",
    [
        lambda x: np.exp(np.exp(2 * x)),
        lambda x: np.cosh(np.exp(x + x)),
    ],
)
@pytest.mark.parametrize("outer", [lambda y: y, lambda y: np.exp(-y)])
def test_what_is_taken_from_itself_at_the_largest_entry_leaves_nothing(
    inner: Callable[[Any], Any], outer: Callable[[Any], Any], strategy: str
):
    def f(x: Any) -> Any:
        return np.sum(outer(np.exp(inner(x) - inner(x).max())))

    slope = rg.grad(f, strategy=strategy, validate=False)
    np.testing.assert_array_equal(slope(np.array([1.0, 2.3])), 0.0)


def test_no_exponential_is_taken_out_of_a_difference_of_exponentials():
    """e^(a+b+w) − e^(a+w), both moderate, is no e^(b+w)·(e^a − e^(a−b)) where e^(a−b) is infinite."""
    f = lambda a, b, w, c: c * np.exp(a) * np.exp(b) * np.exp(w) - c * np.exp(a) * np.exp(w)
    for a, b, w in ((-20.0, -800.0, 5.0), (3.0, -900.0, -2.0), (1.0, 1e-12, 2.0), (900.0, 1.0, -899.0)):
        exact = 1.7 * math.exp(a + w) * math.expm1(b)
        for strategy in ("default", "eager"):
            assert rg.stabilize(f, strategy=strategy)(a, b, w, 1.7) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("join", [np.stack, np.concatenate, lambda x: np.concatenate(x, axis=-1), np.hstack])
def test_one_entry_joined_to_itself_is_known_to_be_one(join):
    """exp(x) stacked upon itself, over its sum, is 1/n wherever x is: its slope is 0, and that of a root of it, too."""
    share = lambda x: (lambda y: y / y.sum(axis=None))(join([np.exp(x), np.exp(x), np.exp(x)]))
    for x in (np.array([0.3]), np.array([[0.2]])):
        want = share(x)
        np.testing.assert_allclose(rg.stabilize(share)(x), want, rtol=1e-15)
        assert rg.grad(lambda x: np.sum(np.cbrt(share(x) - share(x).mean())))(x) == 0
    twice = lambda x: join([x[:, :1], x[:, :1]])
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(rg.stabilize(twice)(x), twice(x))
    assert rg.stabilize(twice)(x).flags.writeable


@pytest.mark.parametrize("axis", [-1, -2, (0, 1), (-2, -1), None])
@pytest.mark.parametrize("strategy", ["default", "eager"])
def test_equal_exponentials_that_are_joined_count_each(axis: Any, strategy: Any):
    """Σ(eˣ + mean eˣ) = 2·Σ eˣ over the axes of the mean: pieces with one exponent are two pieces."""
    x = np.random.default_rng(0).normal(size=(3, 3, 3))

    def share(x):
        e = np.exp(x)
        return e / np.sum(e + np.mean(e, axis=-2, keepdims=True), axis=axis, keepdims=True)

    def total(x):
        return np.log(np.sum(np.exp(x) + np.exp(x).sum(axis, keepdims=True), axis=axis))

    for f in (share, total):
        np.testing.assert_allclose(rg.stabilize(f, strategy=strategy, validate=False)(x), f(x), rtol=1e-13)
