"""Pages made of the library when the site is built: the catalogues of relations and of ops, and the notebooks.

They lie in docs/catalogue/ and docs/notebooks/, which git ignores, and are written only where their text changes, so
that a second build reads nothing twice.
"""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import relgrad as rg
from extensions.rows import DATA, conditions, equation, topics
from relgrad import ops
from relgrad.contract import Contract
from relgrad.implementations import IMPLEMENTATIONS
from relgrad.looks import latex
from relgrad.op import Op
from relgrad.ops.elementwise import Elementwise
from relgrad.types import REAL

DOCS = Path(__file__).resolve().parent.parent
EXAMPLES = DOCS.parent / "examples"
REFERENCE, FURTHER = DOCS / "reference", "further.md"
CATALOGUE, NOTEBOOKS = DOCS / "catalogue", DOCS / "notebooks"


def write(path: Path, text: str) -> None:
    """Write a file if that changes it."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def title(name: str) -> str:
    """Return the title of a module's page.

    >>> title("log_domain")
    'Log domain'
    """
    return name.replace("_", " ").capitalize()


def about(module: Any) -> str:
    """Return the first paragraph of a module's docstring."""
    return (inspect.getdoc(module) or "").split("\n\n")[0]


# Relations


def row_text(row: rg.Relation, found: Mapping[str, Any]) -> str:
    """Return the section of a row: equation, conditions, source, what it gains, spellings."""
    needs = ", ".join(f"`{c}`" for c in conditions(row))
    parts = [f"({row.name})=", f"## {row.name}", "", row.doc, ""]
    shown = latex(row)
    if shown:
        parts += ["$$", shown.strip().strip("$").removeprefix(r"\displaystyle "), "$$", ""]
    parts += ["```python", equation(row), "```", ""]
    if needs:
        parts.append(f":Where: {needs}")
    parts.append(f":Source: {row.source}")
    if "written" in found:
        (mean, worst), (after, at_worst) = found["written"], found["rewritten"]
        parts.append(
            f":Bits lost: {mean} as written, at worst {worst:.0f}; {after} as rewritten, at worst {at_worst:.0f}"
        )
    # What leaves the floats, in truth, tells nothing.
    if "example" in found and found["example"]["truth"] not in ("inf", "-inf", "0.0"):
        example = found["example"]
        at = ", ".join(f"{name} = {value!r}" for name, value in example["inputs"].items())
        parts.append(
            f":Example: at `{at}`, written `{example['written']}`, rewritten `{example['rewritten']}`"
        )
    if found.get("spellings"):
        parts += ["", "It also recognises", "", "```python", *found["spellings"], "```"]
    return "\n".join([*parts, ""])


def relation_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages of the catalogue of relations."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    found = topics()
    for topic, rows in found.items():
        module = import_module(f"relgrad.relations.{topic}")
        sections = [row_text(row, data.get(row.name, {})) for row in rows]
        yield f"relations/{topic}.md", "\n".join([f"# {title(topic)}", "", about(module), "", *sections])
    count = sum(map(len, found.values()))
    listed = [
        f"- [{row.name}](#{row.name}): {row.summary}" for row in sorted(rg.LIBRARY, key=lambda r: r.name)
    ]
    yield (
        "relations/index.md",
        "\n".join(
            [
                "# Catalogue of relations",
                "",
                f"The library holds {count} rows. Each is an equation that is true over the reals wherever its "
                "conditions hold; left to right is the way in which it gains. How a row is written: "
                "[Authoring a relation](../../relations.md).",
                "",
                "*Bits lost* are the mean and the worst over 96 inputs of the row's domain, many of them chosen to be "
                "hard, measured against ball arithmetic. *As rewritten* is the left side rewritten with the whole "
                "library and compiled, without the second computation in twice the precision that programs have by "
                "default. Another sample has other means: they say what a row is for, not how often it helps. The "
                "*spellings* are a few of those that `rg.spellings` finds within three seconds, each of which is "
                "as accurate as the row itself once rewritten, on the same sample.",
                "",
                "```{toctree}",
                *found,
                "```",
                "",
                "## All rows",
                "",
                *listed,
                "",
            ]
        ),
    )


# Ops


def modules() -> dict[str, Any]:
    """Return the modules of ops by name."""
    return {m.name: import_module(f"relgrad.ops.{m.name}") for m in pkgutil.iter_modules(ops.__path__)}


def homes() -> dict[Any, str]:
    """Return the module that assigns each elementwise op, or defines each class of others."""
    found: dict[Any, str] = {}
    for module in modules().values():
        bound = [n for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.Name)]
        assigned = {n.id for n in bound if isinstance(n.ctx, ast.Store)}
        for name, thing in vars(module).items():
            op = isinstance(thing, Elementwise) and name in assigned
            if op or (
                inspect.isclass(thing) and issubclass(thing, rg.Op) and thing.__module__ == module.__name__
            ):
                found.setdefault(thing, module.__name__)
    # A class whose instances are listed says nothing more.
    for kind in {Elementwise, *map(type, found)}:
        found.pop(kind, None)
    return found


HOMES = homes()
"""The ops, as instances or classes, and the modules in which they are declared."""


def declared(module: Any) -> list[Any]:
    """Return the ops that a module declares and that have names of their own."""
    return [op for op, home in HOMES.items() if home == module.__name__ and not name_of(op).startswith("_")]


def name_of(op: Any) -> str:
    """Return the heading of an op."""
    return op.__name__ if inspect.isclass(op) else op.name


def anchor(op: Any) -> str:
    """Return what links to an op name: its module and itself."""
    return f"op-{HOMES[op].rpartition('.')[2]}-{name_of(op)}".strip("_").lower().replace("_", "-")


def laws_of(op: Any) -> str:
    """Return the laws that an op declares, in words."""
    laws = op.laws
    words = [w for w in ("associative", "commutative", "idempotent") if getattr(laws, w)]
    if laws.identity is not None:
        words.append(f"identity {laws.identity}")
    if laws.absorbing is not None:
        words.append(f"absorbing {laws.absorbing}")
    if laws.inverse:
        words.append(f"inverse of `{laws.inverse}`")
    if laws.linear:
        words.append(
            "linear" if laws.linear == (0,) else f"linear in operands {', '.join(map(str, laws.linear))}"
        )
    if laws.monotone:
        words.append("increasing" if laws.monotone > 0 else "decreasing")
    if laws.homomorphism:
        words.append(f"takes `{laws.homomorphism[0]}` to `{laws.homomorphism[1]}`")
    if laws.selects:
        words.append("selects entries")
    return ", ".join(words)


def range_of(op: Any) -> str:
    """Return where the entries of the result lie whatever the operands are."""
    if inspect.isclass(op):
        return "follows from the operands'" if op.range_of is not Contract.range_of else ""
    found = op.range_of(*[REAL] * op.arity)
    if found == REAL:
        return ""
    left, right = "(["[not found.open_low], ")]"[not found.open_high]
    low, high = (f"{x:g}".replace("inf", "∞").replace("-", "−") for x in (found.low, found.high))
    return f"{'(' if low == '−∞' else left}{low}, {high}{')' if high == '∞' else right}"


def derivatives_of(op: Any) -> str:
    """Return which derivative rules an op has."""
    if inspect.isclass(op):
        if op.connected == ():
            return "zero"
        rules = {
            "pullback": op.L_op is not Op.L_op or op.grad is not Op.grad,
            "pushforward": op.R_op is not Op.R_op or bool(op.laws.linear),
            "increment": op.increment is not Contract.increment,
        }
        return ", ".join(name for name, has in rules.items() if has) or "none"
    if op.undefined:
        return f"undefined: {op.undefined}"
    kinds = ["zero" if rule is None else "pullback and pushforward" for rule in op.rules]
    if not kinds:
        return "zero"
    return kinds[0] if len(set(kinds)) == 1 else "; ".join(f"operand {i}: {k}" for i, k in enumerate(kinds))


def op_text(op: Any) -> str:
    """Return the section of an op."""
    name = name_of(op)
    parts = [f"({anchor(op)})=", f"## {name}", ""]
    if inspect.isclass(op):
        parts += [(inspect.getdoc(op) or "").split("\n\n")[0], ""]
    else:
        spelling = op.code.format(*"xyzw"[: op.arity])
        parts += [
            "```python",
            spelling if "np." in spelling else f"{spelling}    # relgrad.kernels",
            "```",
            "",
        ]
    fields = {"Laws": laws_of(op), "Range": range_of(op), "Derivatives": derivatives_of(op)}
    parts += [f":{key}: {value}" for key, value in fields.items() if value]
    return "\n".join([*parts, ""])


def traced(module: Any) -> list[str]:
    """Return the functions of NumPy and SciPy that a module traces."""
    found = []
    for function, builder in IMPLEMENTATIONS.items():
        where = HOMES.get(builder) or getattr(builder, "__module__", None)
        if where == module.__name__ and not isinstance(function, str):
            root = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np")
            name = getattr(function, "__name__", repr(function))
            if "relgrad" in root:
                continue
            found.append(f"`{'scipy.special' if 'special' in root else root}.{name}`")
    return sorted(set(found))


def op_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the pages of the catalogue of ops."""
    shown = []
    for name, module in modules().items():
        members, functions = declared(module), traced(module)
        if not members and not functions:
            continue
        shown.append(name)
        parts = [f"# {title(name)}", "", about(module), ""]
        if functions:
            parts += [f"Traced here: {', '.join(functions)}.", ""]
        yield f"ops/{name}.md", "\n".join([*parts, *map(op_text, members)])
    yield (
        "ops/index.md",
        "\n".join(
            [
                "# Catalogue of ops",
                "",
                "What programs are made of once they are traced: one topic a page. An op answers every question "
                "that the system asks of it; [Adding an op](../../ops.md) has the list. Under *Derivatives*, "
                "a pullback carries cotangents back, a pushforward tangents forth; both are written in the same "
                "ops, and so differentiated again.",
                "",
                "```{toctree}",
                *shown,
                "```",
                "",
            ]
        ),
    )


# Notebooks


def moved(cell: dict[str, Any]) -> dict[str, Any]:
    """Return a cell of a notebook whose links are as the site has them; to what is not in it, there are none.

    >>> moved({"cell_type": "markdown", "source": ["[a](../docs/ops.md), [b](../README.md#c)"]})["source"]
    '[a](../ops.md), b'
    """
    if cell["cell_type"] != "markdown":
        return cell
    text = "".join(cell["source"]).replace("](../docs/", "](docs/")
    text = re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", text).replace("](docs/", "](../")
    return {**cell, "source": text}


def notebooks() -> Iterator[tuple[str, str]]:
    """Yield name and text of the notebooks, and of the page that lists them."""
    found = sorted(EXAMPLES.glob("*.ipynb"))
    for path in found:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        yield (
            path.name,
            json.dumps({**notebook, "cells": list(map(moved, notebook["cells"]))}, ensure_ascii=False),
        )
    listed: Sequence[str] = ["```{toctree}", *[path.stem for path in found], "```"] if found else []
    text = "Stories to read and to run, kept with their outputs. They lie in `examples/` of the repository."
    yield "index.md", "\n".join(["# Notebooks", "", text, "", *listed, ""])


# Reference


def further() -> str:
    """Return the page of the public names that no page of the reference describes; empty where there is none."""
    pages = [path for path in REFERENCE.glob("*.md") if path.name != FURTHER]
    described = re.compile(r"(?:auto\w+::|\{py:\w+\}) (\w+)")
    known = {name for path in pages for name in described.findall(path.read_text(encoding="utf-8"))}
    left = [name for name in rg.__all__ if name not in known]
    if not left:
        return ""
    kinds = [
        "exception"
        if inspect.isclass(x) and issubclass(x, BaseException)
        else "class"
        if inspect.isclass(x)
        else "function"
        if callable(x)
        else "data"
        for x in (getattr(rg, name) for name in left)
    ]
    listed = [f".. auto{kind}:: {name}" for kind, name in zip(kinds, left, strict=True)]
    return "\n".join(
        ["# Further names", "", "```{eval-rst}", ".. currentmodule:: relgrad", "", *listed, "```", ""]
    )


def fill(folder: Path, pages: Iterator[tuple[str, str]]) -> None:
    """Make a folder hold these pages and no others."""
    kept = set()
    for name, text in pages:
        write(folder / name, text)
        kept.add(folder / name)
    for path in folder.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()


def generate(app: Any = None) -> None:
    """Write all pages that are generated."""
    fill(CATALOGUE / "relations", ((n.removeprefix("relations/"), t) for n, t in relation_pages()))
    fill(CATALOGUE / "ops", ((n.removeprefix("ops/"), t) for n, t in op_pages()))
    fill(NOTEBOOKS, notebooks())
    text = further()
    if text:
        write(REFERENCE / FURTHER, text)
    else:
        (REFERENCE / FURTHER).unlink(missing_ok=True)


def setup(app: Any) -> dict[str, bool]:
    """Generate before Sphinx looks for pages."""
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
