"""Strategies, the agenda, and fuel."""

from relgrad.schedule.schedule import schedule
from relgrad.schedule.strategy import DEFAULT, EAGER, Strategy, interleave, strategy

__all__ = ["DEFAULT", "EAGER", "Strategy", "interleave", "schedule", "strategy"]
