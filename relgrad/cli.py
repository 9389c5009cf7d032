"""The command line: is it true, how accurate is it, where is it in danger, and which relations are there.

Each command is a function of its options that returns the exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from relgrad.accuracy.report import Check, checks_table
from relgrad.api import LIBRARY  # pyright: ignore[reportAttributeAccessIssue]  # from relations/
from relgrad.authoring import Refuted, new_relation
from relgrad.authoring.search import search, told
from relgrad.authoring.written import TEMPLATE
from relgrad.display.derivation import Explanation
from relgrad.display.walk import walk
from relgrad.errors import RelgradError
from relgrad.examine import accuracy, check, check_simplifications
from relgrad.findings import FORMATS, examined
from relgrad.loading import of_users, relations_of, subject
from relgrad.pictures import steps
from relgrad.progress import progress

ARGUMENTS = "Python expressions of NumPy, floats(low, high, shape) and the file's names; missing ones are 1.0"
INTERRUPTED, UNREAD = 130, 141
"""What shells return of a command that is ended by SIGINT, or by SIGPIPE since nobody reads on."""


def main(argv: Sequence[str] | None = None) -> int:
    """["check"] → 0, or 1 where something wrong was found, 2 where it could not run: runs a command."""
    options = _parser().parse_args(argv)
    try:
        code = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who reads has seen enough; the interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (RelgradError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    """["lint", "f.py:loss"] → options with run = _lint: the parser of all commands."""
    parser = argparse.ArgumentParser(prog="relgrad", description=str(__doc__).partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_check(commands)
    _add_lint(commands)
    _add_accuracy(commands)
    _add_explain(commands)
    _add_relations(commands)
    _add_new_relation(commands)
    return parser


def _add_check(commands: Any) -> None:
    """relgrad check [FILE …] → _check: adds the command."""
    command = commands.add_parser(
        "check", help="check the relations of files, or the library and the simplifications"
    )
    command.add_argument("files", nargs="*", metavar="FILE", help="a Python file that defines relations")
    command.add_argument("-v", "--verbose", action="store_true", help="describe each relation")
    command.add_argument("--samples", type=_positive, default=96, help="how many inputs each is tried at")
    command.add_argument("--programs", type=_positive, default=32, help="how many programs each is tried on")
    command.add_argument("--seed", type=int, default=0, help="of inputs and programs")
    command.set_defaults(run=_check)


def _add_lint(commands: Any) -> None:
    """relgrad lint FILE:FUNCTION → _lint: adds the command."""
    command = commands.add_parser(
        "lint", help="list the places of a function where floating point goes wrong"
    )
    _add_subject(command)
    command.add_argument(
        "--format",
        choices=list(FORMATS),
        default="text",
        help="that of editors (sarif) or of GitHub's workflows",
    )
    command.set_defaults(run=_lint)


def _add_accuracy(commands: Any) -> None:
    """relgrad accuracy FILE:FUNCTION → _accuracy: adds the command."""
    command = commands.add_parser(
        "accuracy", help="measure a function and its gradient, as written and as rewritten"
    )
    _add_subject(command)
    command.set_defaults(run=_accuracy)


def _add_explain(commands: Any) -> None:
    """relgrad explain FILE:FUNCTION → _explain: adds the command."""
    command = commands.add_parser(
        "explain", help="show the steps by which a function becomes what is computed"
    )
    command.add_argument("function", metavar="FILE:FUNCTION")
    command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=ARGUMENTS)
    command.add_argument("--step", action="store_true", help="one step at a time, with the whole program")
    command.set_defaults(run=_explain)


def _add_relations(commands: Any) -> None:
    """relgrad relations --search WORDS → _relations: adds the command."""
    command = commands.add_parser("relations", help="list the relations of the library, or of files")
    command.add_argument("files", nargs="*", metavar="FILE", help="a Python file that defines relations")
    command.add_argument("--search", metavar="WORDS", default="", help='such as "sum of exponentials"')
    command.add_argument("-v", "--verbose", action="store_true", help="show the equations and sources")
    command.set_defaults(run=_relations)


def _add_new_relation(commands: Any) -> None:
    """relgrad new-relation LEFT RIGHT → _new_relation: adds the command."""
    command = commands.add_parser(
        "new-relation", help="write a relation that states that two sides are equal"
    )
    sides = "a Python expression of NumPy; its other names are variables"
    command.add_argument("left", nargs="?", metavar="LEFT", help=f"as people write it: {sides}")
    command.add_argument("right", nargs="?", metavar="RIGHT", help="what is to be computed instead")
    command.add_argument("--name", default="", help="of the row; by default after its left side")
    command.add_argument("--doc", default="", help="what it states, in a sentence")
    command.add_argument("--source", default="", help="where that can be looked up")
    command.add_argument("--template", action="store_true", help="print a file of relations to start from")
    command.set_defaults(run=_new_relation)


def _add_subject(command: argparse.ArgumentParser) -> None:
    command.add_argument("function", metavar="FILE:FUNCTION")
    command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=ARGUMENTS)
    command.add_argument("--points", type=_positive, default=100, help="how many inputs are tried")


def _positive(text: str) -> int:
    """3 → 3; raises ArgumentTypeError for numbers < 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def _check(options: argparse.Namespace) -> int:
    """files → 0 if all their rows hold, else 1; of no files, the library and the simplifications."""
    rows = [row for file in options.files for row in relations_of(file)] if options.files else list(LIBRARY)
    checks: list[Check] = []
    with progress("checking relations", rows) as each:
        for row in each:
            checks.append(check(row, samples=options.samples, seed=options.seed, subjects=options.programs))
    if not options.files:
        checks += check_simplifications(options.seed, options.programs)
    wrong = [c for c in checks if not c.ok]
    for c in checks if options.verbose else wrong:
        print(c, end="\n\n")
    print(checks_table(checks))
    print(f"\n{len(checks)} checked, {len(wrong)} of them false, refused or never compared")
    return 1 if wrong else 0


def _lint(options: argparse.Namespace) -> int:
    findings = examined(options.function, options.arguments, options.points)
    print(FORMATS[options.format](findings))
    return 0 if findings.ok else 1


def _accuracy(options: argparse.Namespace) -> int:
    """FILE:FUNCTION, arguments → a table of the bits lost, and 0."""
    function, arguments = subject(options.function, options.arguments)
    with of_users(options.function):
        measured = accuracy(function, *arguments, points=options.points)
    print(measured)
    return 0


def _explain(options: argparse.Namespace) -> int:
    """FILE:FUNCTION, arguments → the steps from the function to what is computed, all or one by one, and 0."""
    function, arguments = subject(options.function, options.arguments)
    with of_users(options.function):
        found = steps(function, *arguments)
    if options.step:
        walk(found)
    else:
        print(Explanation(found.derivation))
    return 0


def _relations(options: argparse.Namespace) -> int:
    """words → the rows that are about them, and 0; 1 if there is none."""
    rows = [row for file in options.files for row in relations_of(file)] if options.files else list(LIBRARY)
    found = search(options.search, rows)
    for row in found:
        print("\n".join(told(row, options.verbose)), end="\n\n" if options.verbose else "\n")
    if not found:
        print(f"no relation is about {options.search!r}", file=sys.stderr)
    return 0 if found else 1


def _new_relation(options: argparse.Namespace) -> int:
    """LEFT, RIGHT → the source of a row, and 0; 1 if the sides are not equal."""
    if options.template:
        print(TEMPLATE, end="")
        return 0
    if options.left is None or options.right is None:
        raise RelgradError(
            "new-relation needs a left and a right side",
            where="the command line",
            cure='relgrad new-relation "np.log(np.exp(a) + np.exp(b))" "np.logaddexp(a, b)", or --template',
        )
    about = {"name": options.name, "doc": options.doc, "source": options.source}
    try:
        found = new_relation(options.left, options.right, **about)
    except Refuted as error:
        print(error, file=sys.stderr)
        return 1
    print(found)
    print(*("# " + line for line in found.notes), sep="\n", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
