"""Functions of scipy.linalg on traced arrays: SciPy's values, and derivatives of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import relgrad as rg
from relgrad.errors import TraceError

rng = np.random.default_rng(3)
X = rng.normal(size=(4, 4))
ONE = np.eye(4)


def spd(x: Any) -> Any:
    return x @ x.T + 4 * ONE


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "block_diag": lambda x: sl.block_diag(x, x[:2], x[0], 3.0),
    "toeplitz": lambda x: sl.toeplitz(x[0]),
    "toeplitz of two": lambda x: sl.toeplitz(x[0], x[1, :3]),
    "hankel": lambda x: sl.hankel(x[0]),
    "hankel of two": lambda x: sl.hankel(x[0], x[1]),
    "circulant": lambda x: sl.circulant(x[0]),
    "svdvals": lambda x: sl.svdvals(x),
    "expm": lambda x: sl.expm(x),
    "expm of a large matrix": lambda x: sl.expm(9 * x),
    "pinv": lambda x: sl.pinv(x[:, :2]),
}


def flat(result: Any) -> Any:
    parts = result if isinstance(result, (tuple, list)) else [result]
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_scipys(name: str):
    f = FUNCTIONS[name]
    got, want = rg.stabilize(f)(X), f(X)
    assert [np.shape(part) for part in got] == [np.shape(part) for part in want]
    np.testing.assert_allclose(flat(got), flat(want), rtol=1e-9, atol=1e-11 * np.abs(flat(want)).max())
    weights, step = np.cos(np.arange(flat(want).size)), 1e-6 * rng.normal(size=X.shape)
    slope = np.sum(rg.grad(lambda x: np.sum(flat(f(x)) * weights))(X) * step)
    np.testing.assert_allclose(slope, (flat(f(X + step)) - flat(f(X - step))) @ weights / 2, rtol=1e-5)


@pytest.mark.parametrize(
    ("f", "cure"),
    [
        (lambda x: sl.eigh(x + x.T)[0], "np.linalg.eigh(a)"),
        (lambda x: sl.svd(x)[1], "np.linalg.svd(a)"),
        (lambda x: sl.lu_solve(sl.lu_factor(x), x[0]), "np.linalg.solve(a, b)"),
        (lambda x: sl.solve_banded((1, 2), x, x), "np.linalg.solve(a, b)"),
        (lambda x: sl.solve_sylvester(x, x, x), "np.kron"),
    ],
)
def test_functions_of_other_algorithms_are_refused_with_numpys(f: Callable[[Any], Any], cure: str):
    with pytest.raises(TraceError) as error:
        rg.stabilize(f)(X)
    assert cure in error.value.cure
    assert error.value.where is not None and "test_matrices.py" in error.value.where
