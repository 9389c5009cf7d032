"""Writing relations: proposed by example, held against the library, and found in it."""

from __future__ import annotations

from typing import Any

from relgrad.api import Relations, library_of
from relgrad.authoring.draft import Draft, Refuted, draft
from relgrad.authoring.grounded import FUEL
from relgrad.authoring.overlaps import Loop, Loops, Overlap, Overlaps, loops_of, overlaps_of
from relgrad.examine import row_of
from relgrad.relation import Relation

__all__ = ["Draft", "Loop", "Loops", "Overlap", "Overlaps", "Refuted", "loops", "new_relation", "overlaps"]


def new_relation(
    left: Any,
    right: Any,
    *,
    name: str = "",
    doc: str = "",
    source: str = "",
    relations: Relations = None,
    samples: int = 96,
    seed: int = 0,
) -> Draft:
    """Return a row that states that two functions are equal, under the fewest conditions that are not refuted.

    The sides are functions whose parameters are the variables, or text of NumPy. `print` gives what is to be pasted,
    `.relation` is that row, `.check` what was found out about it, `.file` where its like stand.

    >>> found = new_relation("np.sqrt(x**2)", "x", source="definition of the root")
    >>> print(found)
    import numpy as np
    <BLANKLINE>
    from relgrad.relation import nonnegative, relation
    <BLANKLINE>
    <BLANKLINE>
    @relation(source="definition of the root")
    def root_of_power(x):
        \"\"\"sqrt(x ** 2) is x, for nonnegative(x).\"\"\"
        return np.sqrt(x ** 2), x, nonnegative(x)
    >>> found.check.ok
    True

    Raises Refuted, with a witness, where the sides differ under all conditions that are tried; RelationError for sides
    that make no row.
    """
    return draft(left, right, library_of(relations), name, doc, source, samples, seed)


def overlaps(row: Relation | str, relations: Relations = None, fuel: int = FUEL) -> Overlaps:
    """Return lazily the terms that a row, or the row of a name, and one of the library both rewrite.

    >>> from relgrad import LIBRARY
    >>> overlaps("log_of_exponential", LIBRARY.restricted("log_of_exponential", "exponential_of_logarithm"))
    log(exp(log(x))): joined
      log_of_exponential: log(x)
      exponential_of_logarithm: log(x)
    exp(log(exp(x))): joined
      exponential_of_logarithm: exp(x)
      log_of_exponential: exp(x)

    Each has what the two make of it, and what the scheduler makes of that within `fuel` relations: where these are
    not `joined`, precedence decides. Raises RelationError for a name that no row has.
    """
    library = library_of(relations)
    return Overlaps(overlaps_of(row_of(row, library), library, fuel))


def loops(relations: Relation | Relations = None, length: int = 3) -> Loops:
    """Return lazily the circles of up to `length` steps in which rows lead, each with the terms that show it.

    >>> from relgrad import LIBRARY
    >>> loops(LIBRARY.restricted("log_of_exponential", "exponential_of_logarithm"))
    no row leads back

    Of one row, also what it makes and rewrites again. The scheduler ends all the same: it closes no circle.
    Raises RelationError for what is no relation.
    """
    return Loops(loops_of(library_of(relations), length))
