"""The house: data flows one way, each dependency has one door, modules stay small and are documented."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from relgrad.logic.laws import known_ops

ROOT = Path(__file__).resolve().parent.parent
ENGINE = ROOT / "relgrad"

ORDER = (
    "errors",
    "looks",
    "progress",
    "collector",
    "importable",
    "symbolic",
    "types",
    "key",
    "term",
    "syntax",
    "contract",
    "held",
    "op",
    "leaf",
    "interpret",
    "implementations",
    "kernels",
    "ops",
    "bounds",
    "support",
    "trace",
    "balls",
    "step",
    "logic",
    "logscale",
    "relation",
    "conventions",
    "dependence",
    "constancy",
    "gradient",
    "differentiate",
    "calculus",
    "schedule",
    "definedness",
    "compile",
    "accuracy",
    "display",
    "explore",
    "validate",
    "programs",
    "transformed",
    "interop",
    "api",
    "examine",
    "shown",
    "pictures",
    "loading",
    "findings",
    "authoring",
    "cli",
    "__main__",
    "magic",
)
"""The rooms, in the order in which data flows: each imports only from itself and from rooms before it."""

LIBRARY_MAY_IMPORT = ("numpy", "relgrad", "relgrad.ops", "relgrad.relation", "relgrad.relations")
DOORS = {
    "etuples": "term",
    "kanren": "logic",
    "unification": "logic",
    "cons": "logic",
}


def module_name(path: Path) -> str:
    """Return the dotted name of a module; the folder `relations/` is the package `relgrad.relations`."""
    relative = path.relative_to(ROOT).with_suffix("")
    parts = [*(["relgrad"] if relative.parts[0] == "relations" else []), *relative.parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    module_name(p): p for folder in ("relgrad", "relations") for p in sorted((ROOT / folder).rglob("*.py"))
}
ENGINE_MODULES = sorted(name for name in MODULES if not name.startswith("relgrad.relations"))
LIBRARY_MODULES = sorted(name for name in MODULES if name.startswith("relgrad.relations"))


def room_of(name: str) -> str:
    """Return the room of a module of the package: the part after `relgrad`; the package itself is ''."""
    return name.split(".")[1] if "." in name else ""


def imports_of(name: str, text: str | None = None) -> set[str]:
    """Return what a module imports, wherever in it: our own modules by their full names."""
    path = MODULES[name]
    tree = ast.parse(path.read_text() if text is None else text)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in _without_type_checking(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            source = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                found.add(whole if whole in MODULES and alias.name not in bound_in(source) else source)
    return found


@cache
def bound_in(package: str) -> frozenset[str]:
    """Return the names that a package binds itself: one of them may hide a module of the same name."""
    if package not in MODULES:
        return frozenset()
    body = ast.parse(MODULES[package].read_text()).body
    names = [(node.module, a) for node in body if isinstance(node, ast.ImportFrom) for a in node.names]
    own = {a.asname or a.name for _, a in names if a.name != "*"}
    return frozenset(own.union(*[exported_from(module) for module, a in names if a.name == "*" and module]))


def exported_from(module: str) -> list[str]:
    """Return the names that a module lists in its `__all__`."""
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _without_type_checking(tree: ast.AST) -> Iterator[ast.AST]:
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
                stack.append(child)


def is_ours(name: str) -> bool:
    return name.partition(".")[0] == "relgrad"


def wrong_arrows(name: str, imported: set[str]) -> list[str]:
    """Return the imports of a module that run against the flow."""
    room = room_of(name)
    if not room:
        return []
    allowed = ORDER[: ORDER.index(room) + 1]
    # The library of relations is what the api passes to the engine by default.
    above = (*allowed, "relations") if room == "api" else allowed
    return sorted(m for m in imported if is_ours(m) and room_of(m) not in above)


def wrong_doors(name: str, imported: set[str]) -> list[str]:
    """Return the dependencies that a module imports though they have their door elsewhere."""
    roots = {m.partition(".")[0] for m in imported}
    return sorted(m for m, door in DOORS.items() if m in roots and room_of(name) != door)


def test_every_room_has_a_place_in_the_order():
    assert {room_of(name) for name in ENGINE_MODULES} - {""} <= set(ORDER)


@pytest.mark.parametrize("name", ENGINE_MODULES)
def test_a_module_imports_only_from_rooms_before_its_own(name):
    assert wrong_arrows(name, imports_of(name)) == []


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_dependency_is_imported_at_its_door_only(name):
    assert wrong_doors(name, imports_of(name)) == []


def test_no_imports_run_in_circles():
    arrows = {name: imports_of(name) & set(MODULES) - {name} for name in MODULES}
    order = list(TopologicalSorter(arrows).static_order())
    assert set(order) >= set(MODULES)


@pytest.mark.parametrize("name", LIBRARY_MODULES)
def test_a_relation_imports_only_numpy_and_public_names(name):
    imported = imports_of(name)
    assert {m for m in imported if m not in LIBRARY_MAY_IMPORT and m not in LIBRARY_MODULES} == set()


@pytest.mark.parametrize("name", [n for n in ENGINE_MODULES if room_of(n) == "kernels"])
def test_a_kernel_imports_only_numpy_and_scipy(name):
    roots = {m.partition(".")[0] for m in imports_of(name) if room_of(m) != "kernels"}
    assert roots <= {
        "numpy",
        "scipy",
        "__future__",
        "collections",
        "typing",
        "fractions",
        "functools",
        "itertools",
        "math",
        "copy",
        "dataclasses",
        "types",
    }


def test_the_engine_names_no_relation():
    names = {
        node.name
        for name in LIBRARY_MODULES
        for node in ast.parse(MODULES[name].read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    for name in ENGINE_MODULES:
        words = set(re.findall(r"\w+", re.sub(r'"""(?s:.*?)"""', "", MODULES[name].read_text())))
        assert not words & {n for n in names if n.count("_") >= 2}, name


NAMES_OF_NUMPY = {
    "trace": "what a user calls is named as NumPy, Python and SciPy name it",
    "kernels": "what doubled and extended arithmetic replace are NumPy's functions",
    "display.latex": "formulas are read from source text, in which NumPy's functions stand",
    "authoring.search": "a thesaurus of words that people type",
}
"""Where tables are keyed by names that are not those of ops, though some are called alike, and why."""
CONDITIONS = {"positive", "negative"}
"""Conditions of rows, which are called as ops are."""
Display = ast.Dict | ast.Set | ast.List | ast.Tuple


@cache
def op_names() -> frozenset[str]:
    return frozenset(op.name for op in known_ops()) - CONDITIONS


def tables(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of tables keyed by ops or their names, and of questions asked of a name.

    `frozenset(["exp", "log"])`, `{maximum: np.greater, minimum: np.less}`, `op.name in …`, `op.name == "sqrt"`,
    `table[op.name]`, `table.get(op.name)`
    """
    sources = [
        n for n in tree.body if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("relgrad.ops")
    ]
    ops = {a.asname or a.name for n in sources for a in n.names if not (a.asname or a.name)[0].isupper()}
    kept = {id(n) for top in tree.body if isinstance(top, (ast.Assign, ast.AnnAssign)) for n in ast.walk(top)}
    for node in ast.walk(tree):
        if isinstance(node, Display):
            keys = [k for k in (node.keys if isinstance(node, ast.Dict) else node.elts) if k is not None]
            words = [k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
            named = [word for word in words if word in op_names()]
            of_ops = [k for k in keys if isinstance(k, ast.Name) and k.id in ops]
            looked_up = isinstance(node, (ast.Dict, ast.Set))
            by_name = len(named) > 1 and 2 * len(named) > len(words)
            if by_name or (len(of_ops) > 1 and (looked_up or (id(node) in kept and len(of_ops) > 2))):
                yield node.lineno
        elif isinstance(node, ast.Compare) and _is_name_of_op(node.left):
            known = isinstance(node.comparators[0], ast.Constant)
            if known or isinstance(node.ops[0], (ast.In, ast.NotIn)):
                yield node.lineno
        elif (isinstance(node, ast.Subscript) and _is_name_of_op(node.slice)) or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and any(map(_is_name_of_op, node.args))
        ):
            yield node.lineno


def _is_name_of_op(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "name"
        and ast.unparse(node.value).split(".")[-1] == "op"
    )


def keeps_names(name: str) -> bool:
    """Whether a module may keep tables of names: those of ops, in their own files, or those of NumPy."""
    inner = name.removeprefix("relgrad.")
    return any(inner == place or inner.startswith(f"{place}.") for place in ("ops", *NAMES_OF_NUMPY))


@pytest.mark.parametrize("name", [n for n in ENGINE_MODULES if not keeps_names(n)])
def test_what_is_known_of_an_op_is_asked_of_it(name):
    assert list(tables(ast.parse(MODULES[name].read_text()))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('KNOWN = frozenset(["exp", "log", "sqrt"])', True),
        ('KNOWN = {"maximum": 1, "minimum": 2}', True),
        ("from relgrad.ops.arithmetic import add, multiply\nKNOWN = {add: 1, multiply: 2}", True),
        ("from relgrad.ops.rounding import ceil, floor, rint\nKNOWN = (floor, ceil, rint)", True),
        ('def f(op):\n    return op.name == "sqrt"', True),
        ("def f(t, known):\n    return t.op.name in known", True),
        ("def f(t, known):\n    return known[t.op.name]", True),
        ("def f(t, known):\n    return known.get(t.op.name)", True),
        ('KINDS = ("positive", "negative")', False),
        ("def f(t, u):\n    return t.op.name == u.op.laws.inverse", False),
        (
            "from relgrad.ops.arithmetic import add, subtract\ndef f(op):\n    return op in (add, subtract)",
            False,
        ),
    ],
)
def test_tables_of_ops_are_recognised(text, found):
    assert bool(list(tables(ast.parse(text)))) == found


@pytest.mark.parametrize("name", sorted(MODULES))
def test_what_is_public_says_what_it_is_for(name):
    tree = ast.parse(MODULES[name].read_text())
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    silent = [
        node.name
        for node in tree.body
        if isinstance(node, definitions) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert silent == []
    assert ast.get_docstring(tree) or not tree.body


def test_every_package_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = [name for name, path in MODULES.items() if path.name == "__init__.py"]
    assert sorted(listed) == sorted(packages)


def project_files() -> Iterator[Path]:
    """Yield the text files of the project, without environments, caches and what was built."""
    suffixes = {".py", ".md", ".toml", ".txt", ".yml", ".cfg", ""}
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        skipped = any((p[0] == "." and p != ".ci") or p in ("__pycache__", "build") for p in parts)
        if path.is_file() and not skipped and path.suffix in suffixes and ".egg-info" not in str(path):
            yield path


def test_nothing_is_left_to_do():
    marks = re.compile("|".join(rf"\b{mark}\b" for mark in ("TO" + "DO", "FIX" + "ME", "X" * 3)))
    assert [str(p.relative_to(ROOT)) for p in project_files() if marks.search(p.read_text())] == []


def test_no_path_of_a_machine_is_named():
    folders = "|".join(["ho" + "me", "ro" + "ot", "wo" + "rk", "tm" + "p"])
    paths = re.compile(rf"(?<![\w.])/({folders})/\w")
    assert [str(p.relative_to(ROOT)) for p in project_files() if paths.search(p.read_text())] == []


@pytest.mark.parametrize(
    ("name", "text", "arrows", "doors"),
    [
        ("relgrad.term", "from relgrad.op import Op", ["relgrad.op"], []),
        ("relgrad.term", "import relgrad.api", ["relgrad.api"], []),
        ("relgrad.term", "from relgrad import api", ["relgrad.api"], []),
        ("relgrad.term", "from . import op", ["relgrad.op"], []),
        ("relgrad.term", "def f():\n    from relgrad.op import Op", ["relgrad.op"], []),
        ("relgrad.term", "from etuples.core import ExpressionTuple", [], []),
        ("relgrad.op", "from etuples.core import ExpressionTuple", [], ["etuples"]),
        ("relgrad.op", "import kanren, unification.core as u", [], ["kanren", "unification"]),
        ("relgrad.op", "if TYPE_CHECKING:\n    from relgrad.api import grad", [], []),
    ],
)
def test_the_judge_tells_right_from_wrong(name, text, arrows, doors):
    imported = imports_of(name, text)
    assert wrong_arrows(name, imported) == arrows
    assert wrong_doors(name, imported) == doors
