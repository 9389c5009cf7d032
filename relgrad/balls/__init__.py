"""Balls: numbers of as many digits as it takes, with bounds of their errors; graphs and programs that compute in them.

Importing this package makes them known to programs that lose digits.
"""

from relgrad.balls import numbers as numbers
