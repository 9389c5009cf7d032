"""Stable functions in naive company are read as what they mean where that gains, and nowhere else."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import relgrad as rg
from relgrad.op import as_term
from relgrad.ops.increments import Difference
from relgrad.ops.special import log_ndtr, ndtr
from relgrad.ops.stable import expit, log1mexp, log_expit, logit, softplus, xlogy
from relgrad.schedule.definitions import by_definition, improved
from relgrad.term import subterms

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True, scope="module")
def precision():
    with mp.workdps(60):
        yield


def sigma(x):
    return 1 / (1 + mp.exp(-x))


def phi(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


COMPANY = {
    "log ndtr": (lambda x: np.log(sp.ndtr(x)), lambda x: mp.log(phi(x)), [(-40.0,), (9.0,), (0.3,)]),
    "log 1 - ndtr": (lambda x: np.log(1 - sp.ndtr(x)), lambda x: mp.log(phi(-x)), [(9.0,), (40.0,), (-9.0,)]),
    "logit expit": (lambda x: sp.logit(sp.expit(x)), lambda x: x, [(40.0,), (-800.0,), (1e-9,)]),
    "log1p expm1": (lambda x: np.log1p(np.expm1(x)), lambda x: x, [(800.0,), (-40.0,)]),
    "arctanh tanh": (lambda x: np.arctanh(np.tanh(x)), lambda x: x, [(30.0,), (1e-9,)]),
    "ndtri ndtr": (lambda x: sp.ndtri(sp.ndtr(x)), lambda x: x, [(9.0,), (-40.0,)]),
    "logaddexp less one": (
        lambda x, y: np.logaddexp(x, y) - y,
        lambda x, y: mp.log1p(mp.exp(x - y)),
        [(-40.0, 3.0), (900.0, 950.0), (2.0, 1.0)],
    ),
    "logaddexp of 0": (lambda x: np.logaddexp(0, x) - x, lambda x: mp.log1p(mp.exp(-x)), [(40.0,), (700.0,)]),
    "log -log expit": (
        lambda x: np.log(-np.log(sp.expit(x))),
        lambda x: mp.log(mp.log1p(mp.exp(-x))),
        [(40.0,), (-800.0,), (800.0,)],
    ),
    "logit 1 - exp": (lambda x: sp.logit(1 - np.exp(-x)), lambda x: mp.log(mp.expm1(x)), [(40.0,), (1e-9,)]),
    "divergence": (
        lambda p, q: sp.rel_entr(p, q) - p + q,
        lambda p, q: p * mp.log(p / q) - p + q,
        [(0.5, 0.5 + 1e-8), (0.2, 0.9)],
    ),
    "ndtr of an interval": (
        lambda a, b: sp.ndtr(b) - sp.ndtr(a),
        lambda a, b: phi(b) - phi(a),
        [(9.0, 10.0), (9.0, 99.0)],
    ),
    "erf of an interval": (
        lambda a, b: sp.erf(b) - sp.erf(a),
        lambda a, b: mp.erf(b) - mp.erf(a),
        [(-7.0, -6.0), (6.0, 40.0)],
    ),
    "log of an interval": (
        lambda a, b: np.log(sp.ndtr(b) - sp.ndtr(a)),
        lambda a, b: mp.log(phi(b) - phi(a)),
        [(9.0, 10.0), (-1.0, 2.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPANY)
def test_a_stable_function_in_naive_company_is_read_as_what_it_means(name):
    f, exact, points = COMPANY[name]
    value, gradient = rg.stabilize(f), rg.grad(f)
    for at in points:
        truth = [
            exact(*map(mp.mpf, at)),
            mp.diff(lambda x, rest=at[1:]: exact(x, *map(mp.mpf, rest)), mp.mpf(at[0])),
        ]
        for got, true in zip((value(*at), gradient(*at)), truth, strict=True):
            assert abs(mp.mpf(float(got)) - true) <= 2.0**-46 * abs(true) or abs(true) < 1e-300, (
                at,
                got,
                true,
            )


@pytest.mark.parametrize(
    "op", [expit, logit, log_expit, softplus, log1mexp, ndtr, log_ndtr, np.expm1, np.log1p], ids=str
)
def test_a_function_by_itself_is_left_alone(op):
    alone = rg.stabilize(lambda x: op(x))
    assert alone.explain(np.array([0.5, 0.25, -0.25])).derivation.steps == ()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: sp.xlogy(x, y) + sp.xlogy(1 - x, 1 - y),
        lambda x, y: sp.xlogy(x, y) - sp.xlogy(y, x),
        lambda x, y: sp.rel_entr(x, y) - x + y,
        lambda x, y: sp.entr(x) + sp.entr(y) - sp.entr(x + y),
        lambda x, y: sp.xlog1py(x, -y) - x * y,
        lambda x, y: np.logaddexp(x, y) - np.maximum(x, y),
        lambda x, y: np.log1p(x) + np.log1p(y) - np.log1p(x * y),
    ],
)
def test_edges_of_a_definition_stay_where_a_function_has_them(f):
    """0·log 0 is 0 in xlogy: no meaning is read where that would be lost."""
    for at in [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.5), (0.5, 0.25), (1.0, 0.5)]:
        written = f(*at)
        if np.isfinite(written):
            np.testing.assert_allclose(rg.stabilize(f)(*at), written, rtol=1e-9, atol=1e-15)


def test_what_does_not_gain_is_not_made():
    x, y = rg.symbol("x", ()), rg.symbol("y", ())
    plain = as_term(np.log1p(x) * y)
    for worse in (
        np.log(1 + x) * y,  # loses digits near 0
        np.log1p(x) * y + 1e-3,  # something else
        np.log1p(x) * y * y / y,  # is no number at y = 0
        (np.log1p(x) * y + x) - x,  # loses digits, and is longer
    ):
        assert improved(plain, lambda _, new=worse: as_term(new)) is None
    better = as_term(np.log1p(np.expm1(x)) * y)
    assert improved(better, lambda _: as_term(x * y)) is as_term(x * y)


def test_a_place_with_nothing_to_read_is_not_tried():
    x = rg.symbol("x", ())
    never = lambda pattern: pytest.fail(f"{pattern} was tried")
    assert by_definition(as_term(np.exp(x) * np.sin(x)), never) is None
    assert by_definition(as_term(sp.expit(np.sum(rg.symbol("y", (3,))))), lambda pattern: None) is None


def test_the_derivation_names_what_was_read():
    (step,) = [
        step
        for step in rg.stabilize(lambda x: np.log(sp.ndtr(x))).explain(1.0).derivation.steps
        if step.name == "by_definition"
    ]
    assert step.why == "ndtr read by definition"


def test_what_lies_below_is_not_looked_into():
    """A pattern is as large as what is read: the graph below does not count."""
    sizes = []
    for n in (1, 50):
        y = rg.symbol("x", ())
        for _ in range(n):
            y = np.sin(y) * np.cos(y)
        by_definition(
            as_term(np.log(xlogy(y, np.sin(y)))), lambda pattern: sizes.append(len(rg.show(pattern)))
        )
    assert sizes[1] <= 60


@pytest.mark.parametrize("inner", ["exp", "fabs"])
def test_what_reading_by_definition_made_is_not_read_again(inner):
    slope = rg.grad(lambda x: np.sum(np.log(np.log1p(np.exp(getattr(np, inner)(x))))))
    x = np.array([0.3, 1.5])
    steps = slope.explain(x).derivation.steps
    assert sum(step.name == "by_definition" for step in steps) <= 1
    assert len(steps) < 150
    with mp.workdps(40):
        f = lambda v: mp.log(mp.log1p(mp.exp(getattr(mp, inner)(v))))
        want = [float(mp.diff(f, v)) for v in x]
    np.testing.assert_allclose(slope(x), want, rtol=1e-14)


def test_an_increment_is_a_leaf_of_what_is_read():
    """Increments of increments are integrals of integrals, of which a trial takes seconds."""
    x, y = (rg.symbol(name, ()) for name in "xy")
    seen: list[int] = []
    t = as_term(x + softplus(Difference(ndtr)(np.sin(x), np.sin(y), x - y)))
    by_definition(t, lambda pattern: seen.append(len(list(subterms(pattern)))))
    assert seen == [4]  # x0, x1, softplus(x1), x0 + softplus(x1)
