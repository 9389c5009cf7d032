"""Lines of generated code that are not too long to read."""

from __future__ import annotations

from collections.abc import Iterable

WIDTH = 100


def indent(lines: Iterable[str]) -> str:
    """Return the body of a function."""
    return "\n".join("    " + line.replace("\n", "\n    ") for line in lines)


def wrap(text: str, used: int = 0, *, hang: int = 4, inside: bool = False) -> str:
    """Break a long line after commas inside brackets; strings are left whole.

    `used` columns stand before the text, `hang` before its further lines, `inside` brackets or not.

    >>> print(wrap("return (" + ", ".join(f"variable_{i}" for i in range(12)) + ")"))
    return (variable_0, variable_1, variable_2, variable_3, variable_4, variable_5, variable_6,
        variable_7, variable_8, variable_9, variable_10, variable_11)
    """
    if len(text) + used <= WIDTH or "\n" in text:
        return text
    lines, start, stop = [], 0, -1
    quote = ""
    depth = int(inside)
    limit = WIDTH - used
    for i, letter in enumerate(text):
        if quote:
            if letter == quote and text[i - 1] != "\\":
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == " " and depth and text[i - 1] == ",":
            if i - start > limit and stop > start:
                lines.append(text[start:stop])
                start, limit = stop + 1, WIDTH - used - hang
            stop = i
    if len(text) - start > limit and stop > start:
        lines.append(text[start:stop])
        start = stop + 1
    lines.append(text[start:])
    return ("\n" + " " * hang).join(lines)
