"""A derivation in the terminal, one step at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from relgrad.display.steps import CLOSE, OPEN

PROMPT = "[Enter] next, b back, a number, q quit: "


def walk(
    steps: Sequence[Any],
    read: Callable[[str], str] | None = None,
    write: Callable[[str], Any] = print,
) -> None:
    """Show a step, and after each answer another: Enter or n the next, b the one before, a number that one, q none.

    Where standard input is no terminal all steps are printed. Neither Enter after the last step nor the end of the
    input is an error.

    >>> answers = iter(["", "b", "7", "q"])
    >>> walk(["one", "two"], lambda prompt: next(answers), print)
    one
    two
    one
    there are steps 1 to 2
    """
    interactive = read is not None or sys.stdin.isatty()
    if not interactive or not len(steps):
        write(str(steps))
        return
    read = read or input
    number, shown = 0, -1
    while True:
        if number != shown:
            write(_coloured(str(steps[number])))
            shown = number
        try:
            answer = read(PROMPT).strip().lower()
        except (EOFError, KeyboardInterrupt):
            return
        if answer == "q" or (answer in ("", "n") and number == len(steps) - 1):
            return
        if answer in ("", "n"):
            number += 1
        elif answer == "b":
            number = max(number - 1, 0)
        elif answer.isdecimal() and 1 <= int(answer) <= len(steps):
            number = int(answer) - 1
        else:
            write(f"there are steps 1 to {len(steps)}")


def _coloured(shown: str) -> str:
    """ "⟦x⟧" → reverse video: text with the marked places in reverse video, where the terminal has it."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return shown
    return shown.replace(OPEN, f"\x1b[7m{OPEN}").replace(CLOSE, f"{CLOSE}\x1b[27m")
