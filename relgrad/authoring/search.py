"""Finding relations by words: in their names, docstrings and sources, and in the heads of both sides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import log
from pathlib import Path

from relgrad.display.text import show
from relgrad.relation import Relation

_WEIGHTS = 4.0, 3.0, 2.0, 1.0
"""What a word counts in the name, the docstring, the heads and the source of a row."""
_SAME = dict(
    re.findall(
        r"(\w+) (\w+)",
        """exp exponential, log logarithm, sqrt root, abs size, absolute size, sigmoid logistic, expit logistic,
        sin sine, cos cosine, tan tangent, std deviation, add sum, plus sum, subtract difference, minus difference,
        1 one, multiply product, times product, divide quotient, over quotient, lse logsumexp""",
    )
)
_IDLE = re.compile(r"an?|and|as|at|by|for|from|in|is|its?|of|on|out|than|th(at|eir|e)|to|wh(at|ich)|with")


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared: singular, in small letters, functions by their names.

    >>> words("log of the sum of exponentials")
    ['logarithm', 'sum', 'exponential']
    """
    found = [w for w in re.findall(r"[^\W_]+", text.lower()) if not _IDLE.fullmatch(w)]
    return [_SAME.get(w, w) for w in (_singular(w) for w in found)]


def _singular(word: str) -> str:
    if word in _SAME or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def search(text: str, rows: Iterable[Relation]) -> list[Relation]:
    """ "sum of exponentials" → [log_of_sum_of_exponentials, …]: the rows that a text is about, those that have most of
    its words first.

    A word counts by where it stands and by how rare it is; the beginning of a word counts half. Without words, all
    rows in the order of their files.
    """
    rows = sorted(rows, key=_standing)
    wanted = list(dict.fromkeys(words(text)))
    if not wanted:
        return rows
    fields = {row: [set(words(field)) for field in _fields(row)] for row in rows}
    rarity = {w: _rarity(w, fields.values()) for w in wanted}
    scored = []
    for row in rows:
        found = {w: _found(w, fields[row]) for w in wanted}
        matched = sum(1 for score in found.values() if score)
        if 2 * matched >= len(wanted):
            named = fields[row][0]
            share = len(named.intersection(wanted)) / max(len(named), 1)
            score = sum(rarity[w] * score for w, score in found.items()) + share
            scored.append((-matched, -score, len(row.name), row))
    scored.sort(key=lambda entry: entry[:3])
    return [row for *_, row in scored]


def _standing(row: Relation) -> tuple[str, int]:
    file, _, line = row.place.rpartition(":")
    return file, int(line)


def _fields(row: Relation) -> tuple[str, ...]:
    return row.name, row.doc, f"{show(row.left)} {show(row.right)}", row.source


def _found(word: str, fields: list[set[str]]) -> float:
    """ "sum", in the name → 4.0…: the weight of a word in the fields of a row: the most that it has in one."""
    scores = [
        weight * (1.0 if word in field else 0.5 if any(w.startswith(word) for w in field) else 0.0)
        for weight, field in zip(_WEIGHTS, fields, strict=True)
    ]
    return max(scores) + sum(scores) / 100


def _rarity(word: str, fields: Iterable[list[set[str]]]) -> float:
    having = [any(word in field for field in some) for some in fields]
    return log(1 + len(having) / (1 + sum(having)))


def told(row: Relation, verbose: bool = False) -> Iterator[str]:
    """row → "log_of_exponential  logarithm.py:9", "  The logarithm …"; its equation as well if asked."""
    file, _, line = row.place.rpartition(":")
    path = Path(file)
    place = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    yield f"{row.name}  {place}:{line}"
    yield f"  {row.summary}"
    if verbose:
        left, right = (show(side).replace("\n", "\n  ") for side in (row.left, row.right))
        yield f"  {left}\n  = {right}"
        if row.conditions:
            yield f"  where {', '.join(condition.__name__ for condition in row.conditions)}"
        yield f"  source: {row.source or 'none'}"
