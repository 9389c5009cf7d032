"""Functions of scipy.linalg on traced arrays: SciPy's values, signs among them, and derivatives of differences."""

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
    "eigvalsh": lambda x: sl.eigvalsh(x, lower=False),
    "eigh of one": lambda x: sl.eigh(spd(x), eigvals_only=True),
    "eigh of two": lambda x: sl.eigh(x + x.T, spd(x)),
    "eigh of upper triangles": lambda x: sl.eigh(x, spd(x), lower=False, eigvals_only=True),
    "eigh of some": lambda x: sl.eigh(x + x.T, spd(x), eigvals_only=True, subset_by_index=[1, 2]),
    "svd": lambda x: sl.svd(x[:, :3], full_matrices=False),
    "svdvals": lambda x: sl.svdvals(x),
    "qr": lambda x: sl.qr(x[:, :3], mode="economic"),
    "r of qr": lambda x: sl.qr(x[:, :3], mode="r"),
    "lu_factor": lambda x: sl.lu_factor(x)[0],
    "lu_solve": lambda x: sl.lu_solve(sl.lu_factor(x), x[0] ** 2),
    "lu_solve of the transpose": lambda x: sl.lu_solve(sl.lu_factor(x), x[:2].T ** 2, trans=1),
    "lu": lambda x: sl.lu(x),
    "lu permuted": lambda x: sl.lu(x, permute_l=True),
    "solve_banded": lambda x: sl.solve_banded((1, 2), x + 5 * ONE[2][:, None], x),
    "solveh_banded": lambda x: sl.solveh_banded(x[:2] ** 2 + 9 * ONE[1, :2, None], x[3]),
    "solveh_banded, lower": lambda x: sl.solveh_banded(x[:2] ** 2 + 9 * ONE[0, :2, None], x[3], lower=True),
    "solve_toeplitz": lambda x: sl.solve_toeplitz((x[0] + 9 * ONE[0], x[2]), x),
    "solve_sylvester": lambda x: sl.solve_sylvester(x + 3 * ONE, x[:3, :3] + 4 * np.eye(3), x[:, :3]),
    "solve_continuous_lyapunov": lambda x: sl.solve_continuous_lyapunov(x - 5 * ONE, x),
    "solve_discrete_lyapunov": lambda x: sl.solve_discrete_lyapunov(0.2 * x, x),
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


def test_signs_that_are_those_of_another_algorithm_are_refused():
    with pytest.raises(TraceError, match="eigh cannot be traced with eigenvectors") as error:
        rg.stabilize(lambda x: sl.eigh(x + x.T)[1])(X)
    assert "np.linalg.eigh(a)" in error.value.cure
    assert error.value.where is not None and "test_matrices.py" in error.value.where
    with pytest.raises(TraceError, match="pivoting"):
        rg.stabilize(lambda x: sl.qr(x, pivoting=True))(X)
