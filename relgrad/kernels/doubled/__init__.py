"""Doubled arithmetic: programs computed to twice the precision of floats, with bounds of what is wrong."""

from relgrad.kernels.doubled import arrays, entries, named
from relgrad.kernels.doubled.precise import cancels, precise, product_cancels, sum_cancels

__all__ = ["arrays", "cancels", "entries", "named", "precise", "product_cancels", "sum_cancels"]
