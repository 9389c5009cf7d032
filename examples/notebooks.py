"""The notebooks of this folder, executed from clean kernels so that their outputs are kept: `make notebooks`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.compiler import get_file_name
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
SECONDS = 120
"""A cell may take so long on a slow machine; whole notebooks take about ten seconds."""


def paths() -> list[Path]:
    """Return the notebooks, in the order in which they are read."""
    return sorted(HERE.glob("*.ipynb"))


def executed(path: Path) -> Any:
    """Return a notebook executed from a clean kernel, without what differs from machine to machine.

    Raises nbclient's CellExecutionError where a cell raises.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    cells = {Path(get_file_name(c.source)).stem: f"In[{c.execution_count}]" for c in _code(notebook)}
    for cell in _code(notebook):
        cell.outputs = [_placed(output, cells) for output in _merged(cell.outputs)]
    return notebook


def refresh(path: Path) -> None:
    """Execute a notebook and write it with its outputs."""
    nbformat.write(executed(path), path)


def texts(notebook: Any) -> list[list[str]]:
    """Return the texts of each code cell's outputs, pictures and HTML aside."""
    return [[_text(output) for output in cell.outputs] for cell in _code(notebook)]


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: Any) -> str:
    text = output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


def _merged(outputs: list[Any]) -> list[Any]:
    """Join texts printed one after the other, which kernels cut wherever they are flushed."""
    merged: list[Any] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            last is not None
            and output.output_type == "stream" == last.output_type
            and output.name == last.name
        ):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _placed(output: Any, cells: dict[str, str]) -> Any:
    """Name cells as the reader sees them: kernels give each a file of its own, in a folder of their own."""

    def named(text: Any) -> Any:
        return _FILE.sub(lambda found: cells.get(found[1], found[0]), text) if isinstance(text, str) else text

    if output.output_type == "stream":
        output.text = named(output.text)
    for kind, value in output.get("data", {}).items():
        output.data[kind] = named(value)
    return output


_FILE = re.compile(r"[\w/\\:.-]*ipykernel\\?_\d+[/\\](\d+)\.py")


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]]
    for path in chosen or paths():
        print(path.name, flush=True)
        refresh(path)
