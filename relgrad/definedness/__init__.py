"""Where a program as written is no real number: because an argument is NaN, or an op is outside its domain.

The program that is computed in its stead may be a number there, as x is for exp(log(x)). Which of the two is wanted is
a convention; here is what it takes to keep the first.
"""

from relgrad.definedness.absorbed import undefined_where_tested
from relgrad.definedness.outside import Domains
from relgrad.definedness.tests import tests
from relgrad.definedness.undefined import undefined

__all__ = ["Domains", "tests", "undefined", "undefined_where_tested"]
