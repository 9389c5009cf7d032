"""Strategies, the agenda, and fuel."""

from relgrad.schedule.schedule import replay, schedule
from relgrad.schedule.strategy import DEFAULT, EAGER, NAIVE, Left, Strategy, interleave, strategy

__all__ = ["DEFAULT", "EAGER", "NAIVE", "Left", "Strategy", "interleave", "replay", "schedule", "strategy"]
