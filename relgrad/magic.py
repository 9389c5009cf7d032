"""`%load_ext relgrad`: the hazards of what a cell of a notebook defines, beside the cell."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Mapping
from typing import Any

import numpy as np

from relgrad.errors import RelgradError, is_users
from relgrad.examine import floats, lint
from relgrad.findings import Findings
from relgrad.loading import count_of, evaluated, of_users

FILE, LINE = "<%relgrad>", "the line of the magic"


def load_ipython_extension(shell: Any) -> None:
    """%load_ext relgrad → `%relgrad` and `%%relgrad` are known to IPython."""

    def relgrad(line: str, cell: str | None = None) -> None:
        """Show the hazards of a call or an expression, or of the functions that a cell defines.

        %relgrad loss(np.ones(3))             of a function, at inputs like these
        %relgrad loss                         at numbers
        %relgrad np.log(1 + np.exp(x))        of an expression, at inputs like those in the notebook
        %%relgrad                             of the functions of the cell, at numbers
        %%relgrad loss(np.ones(3)); g(2.0)    of these calls, when the cell has run
        """
        if cell is not None and not shell.run_cell(cell).success:
            return
        try:
            whole = cell is not None and not line.strip()
            _show(_defined(shell.transform_cell(cell)) if whole else _statements(line), shell.user_ns)
        except RelgradError as error:
            print(error)

    shell.register_magic_function(relgrad, "line_cell", "relgrad")


def _statements(line: str) -> list[str]:
    """Return the expressions of a line, which semicolons part.

    >>> _statements("f(1.0); g('a;b')")
    ['f(1.0)', "g('a;b')"]
    """
    try:
        body = ast.parse(line.strip()).body
    except SyntaxError as error:
        raise _unreadable(line, error.msg) from error
    if not body or not all(isinstance(part, ast.Expr) for part in body):
        raise _unreadable(line, "it is no expression")
    return [ast.unparse(part) for part in body]


def _unreadable(line: str, cause: str) -> RelgradError:
    """(line, cause) → RelgradError: that the magic cannot read a line, with the cure."""
    return RelgradError(
        f"%relgrad cannot read {line.strip()!r}",
        where=LINE,
        cause=cause,
        cure="write %relgrad loss(np.ones(3)), or an expression such as np.log(1 + np.exp(x))",
    )


def _defined(cell: str) -> list[str]:
    """Return the names of the functions that a cell defines.

    >>> _defined("def f(x): return x")
    ['f']
    """
    return [node.name for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]


def _show(texts: list[str], names: Mapping[str, Any]) -> None:
    """["loss(1.0)"] → its hazards, displayed; what cannot be examined says why."""
    from IPython.display import display

    if not texts:
        print("the cell defines no function: name a call, as in %%relgrad loss(np.ones(3))")
    for text in texts:
        print(f"{text}:")
        try:
            function, arguments = subject_of(text, names)
            with of_users(text):
                found = Findings.of(lint(function)(*arguments))
        except RelgradError as error:
            print(error)
            continue
        display(found.hazards)
        print(*found.remarks, sep="\n", end="\n" * bool(found.remarks))


def subject_of(text: str, names: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """loss(np.ones(3)) → loss, [array]; "loss" → loss, [1.0]; "np.log(x)" → a function of x, [x]: what a text means.

    A call, a function, or an expression of names. Raises RelgradError for a name that there is not, and for what cannot
    be evaluated.
    """
    value = lambda text: evaluated(text, names, LINE, "")
    node = ast.parse(text, mode="eval").body
    called = node.func if isinstance(node, ast.Call) else node
    function = value(ast.unparse(called)) if isinstance(called, (ast.Name, ast.Attribute)) else None
    if isinstance(node, ast.Call) and _is_users(function):
        if node.keywords:
            raise _unreadable(text, "arguments are given by position")
        return function, [value(ast.unparse(x)) for x in node.args]
    if not isinstance(node, ast.Call) and callable(function):
        return function, [1.0] * count_of(function)
    used = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    numbers = {n: v for n in used if isinstance(v := value(n), (int, float, np.ndarray, np.generic))}
    source = f"lambda {', '.join(numbers)}: {text}"
    linecache.cache[FILE] = (len(source), None, [text], FILE)
    scope = {"np": np, "floats": floats, **names}
    return eval(compile(source, FILE, "eval"), scope), [*map(_floating, numbers.values())]


def _is_users(x: Any) -> bool:
    """Whether x is a function that the user has written."""
    return inspect.isfunction(x) and is_users(x.__code__.co_filename)


def _floating(x: Any) -> Any:
    return float(x) if isinstance(x, int) and not isinstance(x, bool) else x
