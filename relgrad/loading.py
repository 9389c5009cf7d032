"""Functions and relations of the user's files, by the names that a command line or a configuration has for them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from relgrad.errors import RelgradError, is_users
from relgrad.examine import floats
from relgrad.relation import Relation

_PLACE = re.compile(r"(?P<file>.+?\.py):(?P<name>\w+)(?P<call>\(.*\))?", re.DOTALL)
_MACHINERY = re.compile(r"importlib|<frozen |\brunpy\.py$|\bcontextlib\.py$")
CURE = "write path/to/file.py:function"


def nearest(name: str, names: Sequence[str]) -> str:
    """Return in words which names are like one that there is not.

    >>> nearest("softmx", ["softmax", "loss"])
    'the nearest name is softmax'
    """
    near = get_close_matches(name, names)
    return f"the nearest name{' is' if len(near) == 1 else 's are'} {', '.join(near)}" if near else ""


def names_of(file: str | Path) -> dict[str, Any]:
    """f.py → {"loss": loss, …}: all that a Python file defines; a file of a package is imported as part of it.

    Raises RelgradError for a file that there is not, or that cannot be imported, and names the line.
    """
    path = Path(file)
    if not path.is_file():
        beside = [p.name for p in path.parent.glob("*.py")]
        raise RelgradError(
            f"there is no file {file}", where=str(path.parent.resolve()), cause=nearest(path.name, beside)
        )
    parents = list(path.resolve().parents)
    inside = [p.name for p in parents[: _depth(parents)]]
    with _imported_from(parents[len(inside)]):
        try:
            if inside and path.stem.isidentifier():
                module = importlib.import_module(".".join([*reversed(inside), path.stem]))
                if Path(module.__file__ or "").resolve() == path.resolve():
                    return vars(module)
            return runpy.run_path(str(path))
        except RelgradError:
            raise
        except (Exception, SystemExit) as error:
            raise RelgradError(
                f"{file} cannot be imported: {_told(error)}", where=_line(error, path) or str(file)
            ) from error


def relations_of(file: str | Path) -> list[Relation]:
    """rows.py → [row, …]: the relations that a file defines or imports, each once; raises RelgradError where there is
    none.
    """
    rows = {id(v): v for v in names_of(file).values() if isinstance(v, Relation)}
    if not rows:
        raise RelgradError(
            f"{file} defines no relation", where=str(file), cure="decorate equations with @relgrad.relation"
        )
    return list(rows.values())


def subject(place: str, expressions: Sequence[str] = ()) -> tuple[Callable[..., Any], list[Any]]:
    """f.py:loss(1.0) → loss, [1.0]: a function of a file and its arguments, with expressions or without.

    Arguments that are missing are 1.0. Raises RelgradError for a name that there is not, with the nearest that are,
    and for an argument that cannot be evaluated.
    """
    found = _PLACE.fullmatch(place)
    if found is None:
        raise RelgradError(f"{place} names no function", where=place, cure=CURE)
    names = names_of(found["file"])
    name = found["name"]
    if not callable(names.get(name)):
        known = [n for n, value in names.items() if inspect.isfunction(value)]
        cause = f"{name} is no function" if name in names else nearest(name, known)
        raise RelgradError(f"{place} names no function", where=place, cause=cause, cure=CURE)
    texts = [*_arguments(found["call"], place), *expressions] if found["call"] else expressions
    arguments = [evaluated(text, names, place) for text in texts]
    return names[name], [*arguments, *[1.0] * (count_of(names[name]) - len(arguments))]


def evaluated(text: str, names: Mapping[str, Any], place: str, role: str = "the argument ") -> Any:
    """np.ones(2) → [1, 1]: the value of an expression of NumPy, `floats` and a file's names.

    Raises RelgradError where it has none.
    """
    scope = {"np": np, "floats": floats, **names}
    try:
        return eval(text, scope)
    except Exception as error:
        raise RelgradError(
            f"{role}{text} cannot be evaluated: {error}",
            where=place,
            cause=nearest(error.name, list(scope)) if isinstance(error, NameError) and error.name else "",
            cure='write a Python expression, such as "np.ones(3)"',
        ) from error


@contextmanager
def of_users(place: str) -> Iterator[None]:
    """exception in the user's code → RelgradError that names the line; one without a cure gets that of arguments."""
    cure = "pass arguments that it takes, such as np.ones(3): those that are not given are 1.0"
    try:
        yield
    except RelgradError as error:
        if error.cure:
            raise
        raise type(error)(error.what, where=error.where, cause=error.cause, cure=cure) from error
    except Exception as error:
        line = _line(error)
        if line is None:
            raise
        raise RelgradError(
            f"{place} raised {_told(error)}",
            where=line,
            cure=cure,
        ) from error


def count_of(function: Callable[..., Any]) -> int:
    """f(x, y=1, *, z) → 1: how many arguments a function must be given by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in plain and p.default is p.empty for p in parameters)


def _arguments(call: str, place: str) -> list[str]:
    """Return the texts of the arguments of a call.

    >>> _arguments("(np.ones(3), 2)", "f.py:f")
    ['np.ones(3)', '2']
    """
    try:
        node = ast.parse(f"f{call}", mode="eval").body
    except SyntaxError:
        node = None
    if not isinstance(node, ast.Call) or node.keywords:
        raise RelgradError(
            f"the arguments {call} cannot be read",
            where=place,
            cure="write Python expressions, by position: path/to/file.py:function(np.ones(3), 2.0)",
        )
    return [ast.unparse(x) for x in node.args]


def _depth(parents: Sequence[Path]) -> int:
    """Return of how many packages the innermost folder is part."""
    return next(i for i, p in enumerate(parents) if not (p / "__init__.py").is_file() or not p.name)


@contextmanager
def _imported_from(folder: Path) -> Iterator[None]:
    """`with _imported_from(folder): …` → sys.path = [folder, …] within."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _told(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line(error: BaseException, path: Path | None = None) -> str | None:
    """error → "f.py:12": the innermost line of the user's, or of one file, at which an exception was raised;
    or None.
    """
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{error.filename}:{error.lineno}"
    lines = [
        f"{frame.filename}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if is_users(frame.filename) and not _MACHINERY.search(frame.filename) and frame.line
    ]
    within = [line for line in lines if path is not None and Path(line.rpartition(":")[0]) == path.resolve()]
    return (within or lines or [None])[-1]
