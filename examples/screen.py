"""How the examples write to a terminal of 100 columns, or to a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

WIDTH = 100
console = Console(highlight=False)
# Rich takes 80 columns where there is no terminal to ask.
console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH


def title(text: str) -> None:
    """Print the heading of a part."""
    console.print()
    console.rule(f"[bold]{text}", align="left", characters="═")


def heading(text: str) -> None:
    """Print the heading of a paragraph."""
    console.print(f"\n[bold cyan]{text}[/]")


def say(text: str, style: str = "") -> None:
    """Print a sentence."""
    console.print(Text(text, style), soft_wrap=True)


def code(text: str) -> None:
    """Print Python source, indented."""
    syntax = Syntax(text.strip("\n"), "python", theme="ansi_dark", background_color="default", word_wrap=True)
    for line in _lines(Padding(syntax, (0, 0, 0, 4))):
        console.print(line, soft_wrap=True)


def verbatim(text: object) -> None:
    """Print text exactly as it is, indented."""
    for line in str(text).split("\n"):
        console.print(f"    {line}", markup=False, soft_wrap=True)


def table(rows: list[list[str]], columns: list[str]) -> None:
    """Print rows of text under column heads."""
    grid = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        grid.add_column(Text(column), no_wrap=True)
    for row in rows:
        grid.add_row(*map(Text, row))
    for line in _lines(Padding(grid, (0, 0, 0, 4))):
        console.print(line, soft_wrap=True)


def verdict(claims: dict[str, bool]) -> bool:
    """Print what was claimed and whether it holds; return whether all of it does."""
    console.print()
    for claim, holds in claims.items():
        console.print("[green]holds[/]" if holds else "[bold red]FAILS[/]", claim)
    return all(claims.values())


def _lines(renderable: Any) -> Iterator[Any]:
    """Render to lines without the blanks that pad them to the full width."""
    with console.capture() as capture:
        console.print(renderable)
    for line in capture.get().rstrip("\n").split("\n"):
        text = Text.from_ansi(line)
        text.rstrip()
        yield text


class _Lines:
    """Progress as a few plain lines, for output that is no terminal."""

    def __init__(self, label: str, total: int | None):
        self.label, self.of = label, f"/{total}" if total else ""
        self.every = total // 4 if total else 500
        self.last = ""

    def __call__(self, done: int, note: str = "") -> None:
        self.last = f"    {self.label:<24} {done:>5}{self.of}   {note}".rstrip()
        if done % self.every == 0:
            self.finish()

    def finish(self) -> None:
        """Print where things stand, unless that was printed already."""
        if self.last:
            say(self.last)
        self.last = ""


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Any]:
    """Yield a function of the number of steps done and a note, which shows them; `total` may be unknown."""
    if not console.is_terminal or os.environ.get("TERM") == "dumb":
        lines = _Lines(label, total)
        yield lines
        lines.finish()
        return
    columns = (
        TextColumn("    {task.description:<24}"),
        BarColumn(30),
        TextColumn("{task.completed:>5}" + (f"/{total}" if total else "")),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(label, total=total, note="")
        yield lambda done, note="": bar.update(task, completed=done, note=note)
        bar.update(task, total=bar.tasks[0].completed)
