"""Probabilities between cuts: differences of one function in either tail."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import relgrad as rg

CUTS = np.array([-1.0, 0.5, 2.0])
X = np.array([-800.0, 0.3, 40.0, 900.0, 0.1])


def share(z):
    return 1 / (1 + np.exp(-z))


def between(cdf, x):
    """F(c₁ − x), F(c₂ − x) − F(c₁ − x), …, 1 − F(c₃ − x), joined."""
    below = cdf(CUTS - x[:, None])
    return np.concatenate([below[:, :1], np.diff(below, axis=1), 1 - below[:, -1:]], axis=1)


CDFS = {
    "logistic": (share, lambda z: 1 / (1 + mp.exp(-z)), 1.0),
    "normal": (sp.ndtr, mp.ncdf, 0.04),
}


@pytest.mark.parametrize("of", CDFS)
def test_logarithms_of_probabilities_between_cuts_are_known_in_both_tails(of):
    """log F(c₁ − x), log(F(c₂ − x) − F(c₁ − x)), …, log(1 − F(c₃ − x)), and slopes of those that are observed."""
    cdf, exactly, scale = CDFS[of]
    log = lambda x: np.log(between(cdf, x))
    x, y = X * scale, np.array([0, 1, 2, 3, 1])
    with mp.workdps(900):
        f = lambda k, z: mp.mpf(0) if k < 0 else mp.mpf(1) if k > 2 else exactly(mp.mpf(CUTS[k]) - z)
        true = lambda k, z: mp.log(f(k, z) - f(k - 1, z))
        h, points = mp.mpf(10) ** -40, list(map(mp.mpf, x))
        logs = [[float(true(k, z)) for k in range(4)] for z in points]
        slopes = [float((true(k, z + h) - true(k, z - h)) / (2 * h)) for k, z in zip(y, points, strict=True)]
    np.testing.assert_allclose(rg.stabilize(log, precise=False)(x), logs, rtol=1e-12, atol=1e-200)
    observed = rg.grad(lambda x: np.sum(log(x)[np.arange(5), y]), precise=False)(x)
    np.testing.assert_allclose(observed, slopes, rtol=1e-11, atol=1e-300)
