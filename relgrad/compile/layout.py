"""Lines of generated code that are not too long to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

WIDTH = 100
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def indent(lines: Iterable[str]) -> str:
    """Return the body of a function."""
    return "\n".join("    " + line.replace("\n", "\n    ") for line in lines)


def wrap(text: str, used: int = 0) -> str:
    """Break a line that is too long inside the brackets at its end; `used` columns stand before it.

    >>> print(wrap("return " + str({"weights": "w" * 50, "bias": "b" * 50}).replace("'", "")))
    return {
        weights: wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww,
        bias: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
    }
    """
    if len(text) + used <= WIDTH or "\n" in text:
        return text
    body = text.removesuffix(":")
    levels = list(_levels(body))
    start = next((i for i in range(len(body) - 2, -1, -1) if levels[i] == 0 and body[i] in _CLOSING), None)
    if start is None or body[-1] != _CLOSING[body[start]] or 0 in levels[start + 1 : -1]:
        return text
    if body[start] == "[" and start and (body[start - 1].isalnum() or body[start - 1] in "_)]}"):
        return text  # in a subscript, a comma at the end would make a tuple
    cuts = [i for i in range(start, len(body) - 1) if levels[i] == 1 and body[i] == ","]
    edges = zip([start, *cuts], [*cuts, len(body) - 1], strict=True)
    parts = [part for i, j in edges if (part := body[i + 1 : j].strip())]
    parts = [wrap(part, used + 4) for part in _filled(parts, WIDTH - used - 5)]
    comma = "," if len(parts) > 1 or cuts else ""
    inner = ",\n".join(parts).replace("\n", "\n    ")
    return f"{body[: start + 1]}\n    {inner}{comma}\n{body[-1]}{text[len(body) :]}"


def _filled(parts: list[str], width: int) -> list[str]:
    """["a,", "b,", "c,"] → ["a, b, c,"]: short parts on common lines."""
    if len(parts) < 8 or max(map(len, parts)) > 30:
        return parts
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 2 + len(part) <= width:
            lines[-1] += ", " + part
        else:
            lines.append(part)
    return lines


def _levels(text: str) -> Iterator[int]:
    """Yield how many brackets each letter stands in, those that it opens or closes itself left out."""
    level, quote, escaped = 0, "", False
    for letter in text:
        if quote:
            # Whatever is quoted is deeper than anything that could be broken.
            yield level + 1000
            if letter == quote and not escaped:
                quote = ""
            escaped = letter == "\\" and not escaped
            continue
        if letter in ")]}":
            level -= 1
        yield level
        if letter in "([{":
            level += 1
        elif letter in "'\"":
            quote = letter
