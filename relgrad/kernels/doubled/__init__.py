"""Doubled arithmetic: programs computed to twice the precision of floats, with bounds of what is wrong."""

from relgrad.kernels.doubled import arrays, entries
from relgrad.kernels.doubled.named import given, rounded
from relgrad.kernels.doubled.precise import cancels, precise, product_cancels, sum_cancels

__all__ = [
    *("arrays", "cancels", "entries", "given", "precise", "product_cancels", "rounded", "sum_cancels"),
]
