"""Extended range: programs whose intermediate results leave the floats though their results do not."""

from relgrad.kernels.extended import arrays, entries, functions, named
from relgrad.kernels.extended.retry import extended_range

__all__ = ["arrays", "entries", "extended_range", "functions", "named"]
