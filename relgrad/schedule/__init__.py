"""Strategies, the agenda, and fuel."""

from relgrad.schedule.combinators import attempt, bottom_up, chain, either, exhaust, innermost, prefer, search
from relgrad.schedule.schedule import replay, schedule, without_points
from relgrad.schedule.strategy import DEFAULT, EAGER, NAIVE, Left, Strategy, interleave, strategy

__all__ = [
    "DEFAULT",
    "EAGER",
    "NAIVE",
    "Left",
    "Strategy",
    "attempt",
    "bottom_up",
    "chain",
    "either",
    "exhaust",
    "innermost",
    "interleave",
    "prefer",
    "replay",
    "schedule",
    "search",
    "strategy",
    "without_points",
]
