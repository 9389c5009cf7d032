"""Strategies: which moves the scheduler may make, in which order; small values that compose.

Source: the separation of rules from control follows Stratego (Visser 2001) and sympy.strategies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from relgrad.logic.goals import BinaryGoal
from relgrad.term import Term

RELATE, EXPAND, SERIES, INCREMENT = "relate", "expand", "series", "increment"
SINK, FOLD, LINE, LIMITS = "sink", "fold", "line", "limits"
MOVES = frozenset({RELATE, EXPAND, SERIES, INCREMENT, SINK, FOLD, LINE, LIMITS})

Move = str | BinaryGoal
"""A move by name; or a goal of one's own on a term and what becomes of it, such as a relation."""
Left = frozenset[tuple[str, Term | None]]
"""Moves that are left out: their names, each with the term at which it is, or None for all."""


@dataclass(frozen=True)
class Strategy:
    """A sequence of phases; each saturates the graph with its own set of moves, bottom-up.

    Where the program is `extended`, what overflows or underflows on the way is computed again in extended range.

    >>> last = interleave(RELATE, INCREMENT) >> interleave(SINK, FOLD) >> interleave(LINE)
    >>> (interleave(RELATE, EXPAND, SERIES) >> last).phases == DEFAULT.phases
    True
    """

    phases: tuple[frozenset[Move], ...]
    name: str = ""
    extended: bool = False

    @property
    def relates(self) -> bool:
        """Whether any phase applies relations."""
        return any(RELATE in moves for moves in self.phases)

    def __rshift__(self, other: Strategy) -> Strategy:
        """Do this strategy first, then the other."""
        name = f"{self.name} >> {other.name}".strip(" >")
        return Strategy(self.phases + other.phases, name, self.extended or other.extended)


def interleave(*moves: Move) -> Strategy:
    """interleave(RELATE, FOLD) → one phase {RELATE, FOLD}: all these moves at once, operands before what uses them.

    A goal of one's own, `move(t, v)`, is tried where relations have had their say. Raises ValueError for a move that
    there is not.
    """
    unknown = [move for move in moves if not callable(move) and move not in MOVES]
    if unknown:
        raise ValueError(f"unknown moves {sorted(map(str, unknown))}; there are {sorted(MOVES)}")
    return Strategy((frozenset(moves),), "+".join([_name(move) for move in moves]))


def own_goals(moves: Iterable[Move]) -> list[tuple[str, BinaryGoal]]:
    """Return the goals among moves, with their names, by which they are in order."""
    goals = [(_name(move), move) for move in moves if not isinstance(move, str)]
    return sorted(goals, key=itemgetter(0)) if goals else goals


def _name(move: Any) -> str:
    return move if isinstance(move, str) else getattr(move, "name", None) or move.__name__


_LAST = interleave(RELATE, INCREMENT) >> interleave(SINK, FOLD) >> interleave(LINE)

DEFAULT = Strategy((interleave(RELATE, EXPAND, SERIES) >> _LAST).phases, "default", True)
"""Stabilise the function, expand its gradient layer by layer, stabilise what comes of it; then increments, and masks.

A function becomes a series near a point where it still cancels when relations have had their say, and before it is
differentiated: a series has a derivative of its own. Increments come when all is differentiated: the plain derivative
f'(x) - f'(y) of f(x) - f(y) is an increment again. Factors sink after them, since relations see through a product, but
not into a mask. What still loses digits where arguments come near each other has its series there, at the end.
"""

EAGER = Strategy((interleave(EXPAND, LIMITS) >> interleave(RELATE, SERIES) >> _LAST).phases, "eager", True)
"""Expand every gradient first, as others do, and only then look for relations.

But for what rules leave open at a point: lengths, roots of squares, guards and kinks are looked at before they are
differentiated.
"""

NAIVE = Strategy(interleave(EXPAND).phases, "naive")
"""The program as written, gradients expanded; no rewriting, no relations, no extended range.

What automatic differentiation alone gives: NumPy's own values, overflow and cancellation included.
"""

STRATEGIES = {strategy.name: strategy for strategy in (DEFAULT, EAGER, NAIVE)}


def strategy(which: str | Strategy) -> Strategy:
    """default → DEFAULT, a strategy → itself: a strategy by name; raises ValueError for a name that there is not."""
    if isinstance(which, Strategy):
        return which
    if which not in STRATEGIES:
        raise ValueError(f"unknown strategy {which!r}; there are {', '.join(sorted(STRATEGIES))}")
    return STRATEGIES[which]
