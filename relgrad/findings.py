"""Hazards as findings: ignored by comments, and told in the formats of editors and of continuous integration.

Source: SARIF 2.1.0 (OASIS 2020), sections 3.13-3.35; GitHub's workflow commands.
"""

from __future__ import annotations

import io
import json
import linecache
import re
import tokenize
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from relgrad.accuracy.hazards import Hazard
from relgrad.accuracy.report import assignments
from relgrad.display.text import show
from relgrad.examine import Hazards, lint
from relgrad.loading import nearest, of_users, subject

KINDS = {
    "overflow": "a number is too large for the format, though the result is not",
    "underflow": "a number is too small for the format and becomes 0",
    "cancellation": "digits that agree cancel, and rounding is left",
    "0/0": "0 is divided by 0, though the quotient has a limit",
    "NaN": "NaN is computed where a number is known",
    "rounding": "the rounding of an operand is magnified",
}
_COMMENT = re.compile(r"#\s*relgrad:\s*ignore\b(?:\[(?P<kinds>[^\]]*)\])?\s*(?P<reason>.*)")
CURE = "write # relgrad: ignore[kind] and the reason"


class Ignored(NamedTuple):
    """A hazard that a comment on its line ignores, and the reason that is given."""

    hazard: Hazard
    reason: str


class Findings(NamedTuple):
    """[overflow, cancellation # relgrad: ignore[…] …] → ([overflow], ignored): the hazards that remain, and the others.

    And complaints about comments on their lines.
    """

    hazards: Hazards
    ignored: tuple[Ignored, ...] = ()
    complaints: tuple[str, ...] = ()

    @classmethod
    def of(cls, hazards: Sequence[Hazard]) -> Findings:
        """hazards → those that remain, those that comments `# relgrad: ignore[kind] reason` ignore, complaints."""
        remaining, ignored, complaints = [], [], {}
        for hazard in hazards:
            reason, complaint = _ignored(hazard)
            if complaint:
                complaints[complaint] = None
            if reason:
                ignored.append(Ignored(hazard, reason))
            else:
                remaining.append(hazard)
        return cls(Hazards(remaining), tuple(ignored), tuple(complaints))

    @property
    def ok(self) -> bool:
        """Whether nothing is left to be said."""
        return not self.hazards and not self.complaints

    @property
    def remarks(self) -> list[str]:
        """→ ["1 hazard is ignored by comments"]: the lines beside the hazards, complaints first."""
        count = len(self.ignored)
        if not count:
            return [*self.complaints]
        return [
            *self.complaints,
            f"{count} {'hazard is' if count == 1 else 'hazards are'} ignored by comments",
        ]

    def __str__(self) -> str:
        return "\n".join([str(self.hazards), *self.remarks])


def examined(place: str, expressions: Sequence[str] = (), points: int = 100) -> Findings:
    """f.py:loss(1.0) → Findings of loss at 1.0: of a function of a file, FILE:FUNCTION or FILE:FUNCTION(ARGUMENTS).

    Raises RelgradError where there is none, or where it raises.
    """
    function, arguments = subject(place, expressions)
    with of_users(place):
        return Findings.of(lint(function, points=points)(*arguments))


def _ignored(hazard: Hazard) -> tuple[str, str]:
    """# relgrad: ignore[overflow] x is small → ("x is small", ""): a hazard's reason to be ignored, and a complaint.

    "" for none.
    """
    found = _COMMENT.search(_comment(*_file_and_line(hazard)))
    if found is None:
        return "", ""
    kinds = [kind.strip() for kind in (found["kinds"] or "").split(",")]
    by_name = {kind.lower(): kind for kind in KINDS}
    unknown = next((kind for kind in kinds if kind.lower() not in by_name), None)
    if unknown is not None:
        cause = nearest(unknown, list(KINDS)) or f"the kinds are {', '.join(KINDS)}"
        what = f"ignores {unknown}, which is no kind of hazard" if unknown else "ignores no kind of hazard"
        return "", f"{hazard.where}: the comment {what}\n  cause: {cause}\n  cure:  {CURE}"
    if hazard.kind not in [by_name[kind.lower()] for kind in kinds]:
        return "", ""
    if not found["reason"].strip():
        return "", f"{hazard.where}: {hazard.kind} is not ignored without a reason\n  cure:  {CURE}"
    return found["reason"].strip(), ""


def _comment(file: str, line: int) -> str:
    """`y = "#"  # z` → "# z": the comment of a line, and no text that looks like one."""
    linecache.checkcache(file)  # a file may have changed since it was read
    text = linecache.getline(file, line)
    if "#" not in text:
        return ""
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(linecache.getlines(file))).readline):
            if token.type == tokenize.COMMENT and token.start[0] == line:
                return token.string
    except (tokenize.TokenError, SyntaxError):  # such as IPython's own syntax in a cell
        return text[text.index("#") :]
    return ""


def _file_and_line(hazard: Hazard) -> tuple[str, int]:
    file, _, line = hazard.where.rpartition(":")
    return file, int(line)


def _message(hazard: Hazard) -> str:
    """Hazard → "overflow in exp(x): the value loses 52 bits at x = 800; no relation removes it"."""
    removed = f"removed by {', '.join(hazard.relations)}" if hazard.relations else "no relation removes it"
    return (
        f"{hazard.kind} in {show(hazard.term, limit=8)}: the {hazard.output} loses {hazard.bits:.0f} bits at "
        f"{assignments(hazard.inputs)}; {removed}"
    )


def sarif(findings: Findings) -> str:
    """Findings → JSON of SARIF 2.1.0; what is ignored is a suppressed result."""
    results = [
        *[_result(hazard, None) for hazard in findings.hazards],
        *[_result(hazard, reason) for hazard, reason in findings.ignored],
    ]
    rules = [{"id": f"relgrad/{kind}", "shortDescription": {"text": KINDS[kind]}} for kind in KINDS]
    driver = {"name": "relgrad", "version": version("relgrad"), "rules": rules}
    notes = [{"level": "warning", "message": {"text": text}} for text in findings.complaints]
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if notes:
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _result(hazard: Hazard, reason: str | None) -> dict[str, Any]:
    """(hazard, reason) → {"ruleId": "relgrad/overflow", …, "suppressions": …}: one result of the log."""
    result: dict[str, Any] = {
        "ruleId": f"relgrad/{hazard.kind}",
        "ruleIndex": list(KINDS).index(hazard.kind),
        "level": "warning",
        "message": {"text": _message(hazard)},
    }
    file, line = _file_and_line(hazard)
    if line > 0:
        place = {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}
        result["locations"] = [{"physicalLocation": place}]
    if reason is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": reason}]
    return result


def _uri(file: str) -> str:
    path = Path(file)
    local = _relative(file)
    return path.as_uri() if path.is_absolute() and local == file else quote(Path(local).as_posix())


def _relative(file: str) -> str:
    """Return a file by its path from the working directory, if it lies below."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def github(findings: Findings) -> str:
    """Findings → "::warning file=…,line=…,title=…::…": annotations of a workflow of GitHub, one a line."""
    lines = []
    for hazard in findings.hazards:
        file, line = _file_and_line(hazard)
        place = f"file={_property(_relative(file))},line={line}," if line > 0 else ""
        title = _property(f"relgrad: {hazard.kind}")
        lines.append(f"::warning {place}title={title}::{_data(_message(hazard))}")
    lines += [f"::warning title=relgrad::{_data(text)}" for text in findings.complaints]
    if findings.ignored:
        lines.append(f"::notice title=relgrad::{len(findings.ignored)} ignored by comments")
    return "\n".join(lines)


def _data(text: str) -> str:
    """Escape what would end a command: GitHub reads a command to the end of its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: dict[str, Callable[[Findings], str]] = {"text": str, "sarif": sarif, "github": github}
"""What `relgrad lint --format` speaks."""
