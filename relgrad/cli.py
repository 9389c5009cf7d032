"""The command line: `relgrad check`, `relgrad lint`, `relgrad accuracy` and `relgrad explain`."""

from __future__ import annotations

import argparse
import inspect
import runpy
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from relgrad.accuracy.report import Check, checks_table
from relgrad.api import LIBRARY  # pyright: ignore[reportAttributeAccessIssue]  # from relations/
from relgrad.display.derivation import Explanation
from relgrad.display.walk import walk
from relgrad.errors import RelgradError
from relgrad.examine import accuracy, check, check_simplifications, floats, lint
from relgrad.pictures import steps
from relgrad.relation import Relation

ARGUMENTS = "Python expressions of NumPy, floats(low, high, shape) and the file's names; missing ones are 1.0"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 where it found something wrong, or 2 where it could not run."""
    options = _parser().parse_args(argv)
    try:
        return options.run(options)
    except (RelgradError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="relgrad", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser(
        "check", help="check the relations of files, or the library and the simplifications"
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a Python file that defines relations")
    command.add_argument("-v", "--verbose", action="store_true", help="describe each relation")
    command.add_argument("--samples", type=_positive, default=96, help="how many inputs each is tried at")
    command.add_argument("--programs", type=_positive, default=32, help="how many programs each is tried on")
    command.add_argument("--seed", type=int, default=0, help="of inputs and programs")
    command.set_defaults(run=_check)
    for name, run, what in (
        ("lint", _lint, "list the places of a function where floating point goes wrong"),
        ("accuracy", _accuracy, "measure a function and its gradient, as written and as rewritten"),
    ):
        command = commands.add_parser(name, help=what)
        command.add_argument("function", metavar="FILE:FUNCTION")
        command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=ARGUMENTS)
        command.add_argument("--points", type=_positive, default=100, help="how many inputs are tried")
        command.set_defaults(run=run)
    command = commands.add_parser(
        "explain", help="show the steps by which a function becomes what is computed"
    )
    command.add_argument("function", metavar="FILE:FUNCTION")
    command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=ARGUMENTS)
    command.add_argument("--step", action="store_true", help="one step at a time, with the whole program")
    command.set_defaults(run=_explain)
    return parser


def _positive(text: str) -> int:
    """Return a number of inputs."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def _check(options: argparse.Namespace) -> int:
    rows = [row for file in options.files for row in _relations(file)] if options.files else list(LIBRARY)
    checks: list[Check] = [
        check(row, samples=options.samples, seed=options.seed, subjects=options.programs) for row in rows
    ]
    if not options.files:
        checks += check_simplifications(options.seed, options.programs)
    wrong = [c for c in checks if not c.ok]
    for c in checks if options.verbose else wrong:
        print(c, end="\n\n")
    print(checks_table(checks))
    print(f"\n{len(checks)} checked, {len(wrong)} of them false, refused or never compared")
    return 1 if wrong else 0


def _relations(file: str) -> list[Relation]:
    rows = {id(v): v for v in runpy.run_path(file).values() if isinstance(v, Relation)}
    if not rows:
        raise RelgradError(
            f"{file} defines no relation", where=file, cure="decorate equations with @relgrad.relation"
        )
    return list(rows.values())


def _lint(options: argparse.Namespace) -> int:
    function, arguments = _subject(options.function, options.arguments)
    found = lint(function, points=options.points)(*arguments)
    print(found)
    return 1 if found else 0


def _accuracy(options: argparse.Namespace) -> int:
    function, arguments = _subject(options.function, options.arguments)
    print(accuracy(function, *arguments, points=options.points))
    return 0


def _explain(options: argparse.Namespace) -> int:
    function, arguments = _subject(options.function, options.arguments)
    found = steps(function, *arguments)
    if options.step:
        walk(found)
    else:
        print(Explanation(found.derivation))
    return 0


def _subject(place: str, expressions: Sequence[str]) -> tuple[Any, list[Any]]:
    """Return a function of a file, and its arguments."""
    file, colon, name = place.rpartition(":")
    names = runpy.run_path(file) if colon else {}
    if not callable(names.get(name)):
        raise RelgradError(f"{place} names no function", where=place, cure="write path/to/file.py:function")
    scope = {"np": np, "floats": floats, **names}
    arguments = []
    for text in expressions:
        try:
            arguments.append(eval(text, scope))
        except Exception as error:
            raise RelgradError(
                f"the argument {text} cannot be evaluated: {error}",
                where=place,
                cure='write a Python expression, such as "np.ones(3)"',
            ) from error
    wanted = [p for p in inspect.signature(names[name]).parameters.values() if p.default is p.empty]
    plain = [p for p in wanted if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names[name], [*arguments, *[1.0] * (len(plain) - len(arguments))]


if __name__ == "__main__":
    sys.exit(main())
