"""What many cases are made of, as it is written naively."""

from __future__ import annotations

import numpy as np


def row(*entries):
    return np.array(entries)


def softmax(xp, x):
    return xp.exp(x) / xp.sum(xp.exp(x), axis=-1, keepdims=True)


def sigmoid(xp, x):
    return 1.0 / (1.0 + xp.exp(-x))
