"""A glance at two terms, before anything is normalised: heads that differ and stay settle the matter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relgrad.logic.aco.carriers import OP, atom, carrier_of
from relgrad.logic.aco.node import Symbol, same, symbol_of
from relgrad.logic.aco.theory import Reading
from relgrad.logic.unify import is_variable, walk

GLANCES = 32
"""How many pairs of subterms are looked at."""


def clash(x: Any, y: Any, s: Mapping[Any, Any], reading: Reading) -> bool:
    """Whether two terms are seen to differ under a state; False says nothing. Takes constant time; raises Improper."""
    pairs = [(x, y)]
    for _ in range(GLANCES):
        if not pairs:
            return False
        x, y = pairs.pop()
        x, y = (walk(x, s) if is_variable(x) else x), (walk(y, s) if is_variable(y) else y)
        if x is y or is_variable(x) or is_variable(y):
            continue
        kinds = carrier_of(x), carrier_of(y)
        if OP in kinds:
            continue
        if kinds == (None, None):
            if not same(atom(x), atom(y)):
                return True
            continue
        a, b = _lasting(x, reading), _lasting(y, reading)
        if None in kinds:
            if a or b:
                return True
        elif a and b:
            if a[0] is not b[0]:
                return True
            if a[0].free:
                if len(a[1]) != len(b[1]):
                    return True
                pairs.extend(zip(a[1][1:GLANCES], b[1][1:GLANCES], strict=True))
    return False


def _lasting(x: Any, reading: Reading) -> tuple[Symbol, Any] | None:
    """Return the symbol and the parts of an application that stays one of its head, whatever its arguments are."""
    carrier = carrier_of(x)
    if carrier is None:
        return None
    parts = carrier.parts(x)
    if is_variable(parts[0]) or carrier_of(parts[0]) is not None:
        return None
    try:
        symbol = symbol_of(carrier, parts[0], reading)
    except TypeError:  # a head that cannot be hashed
        return None
    lasting = symbol.free or (not symbol.has_unit and not symbol.idempotent and len(parts) > 2)
    return (symbol, parts) if lasting else None
