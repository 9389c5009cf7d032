"""Each notebook of `examples/` runs from a clean kernel, and prints what is kept beside its cells."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import notebooks  # noqa: E402  # the examples are scripts, and no package

PATHS = notebooks.paths()
LOCAL = re.compile(r"(?<![\w.:])/(?:home|tmp|usr|work|root|Users|var)/|\b[A-Z]:\\|\bat 0x[0-9a-f]{6,}")
"""What differs from machine to machine: paths from the root, addresses."""

each_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@pytest.mark.sampled(4)
@each_notebook
def test_outputs_are_those_of_a_clean_kernel(path: Path) -> None:
    kept, fresh = nbformat.read(path, as_version=4), notebooks.executed(path)
    sources = [cell.source for cell in kept.cells if cell.cell_type == "code"]
    for source, before, now in zip(sources, notebooks.texts(kept), notebooks.texts(fresh), strict=True):
        assert before == now, f"`make notebooks` brings the outputs up to date; the cell:\n{source}"


@each_notebook
def test_a_notebook_can_be_read_as_it_is_kept(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    nbformat.validate(kept)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    assert kept.cells[0].cell_type == "markdown"
    assert kept.cells[0].source.startswith("# ")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert any(cell.outputs for cell in code)
    kinds = {output.output_type for cell in code for output in cell.outputs}
    assert kinds <= {"stream", "execute_result", "display_data"}
    assert not [o for cell in code for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"]
    assert not LOCAL.findall(path.read_text(encoding="utf-8"))


@each_notebook
def test_links_lead_somewhere(path: Path) -> None:
    prose = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert not [target for target in targets if not (path.parent / target).exists()]


def test_the_index_lists_every_notebook_in_order() -> None:
    index = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert list(dict.fromkeys(re.findall(r"\((\w+\.ipynb)\)", index))) == [path.name for path in PATHS]


def test_what_differs_from_machine_to_machine_is_found() -> None:
    path = "/".join(["", "home", "ada", "x.json"])
    assert LOCAL.search(f"saved as {path}")
    assert LOCAL.search("<Theory object at 0x7f02959ce750>")
    assert not LOCAL.search(f"https://example.org{path}")


def test_outputs_that_went_stale_are_seen(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    path = tmp_path / "sum.ipynb"
    nbformat.write(notebook, path)
    assert notebooks.texts(notebook) == [[]]
    assert notebooks.texts(notebooks.executed(path)) == [["2"]]


def test_cells_are_named_as_readers_see_them(tmp_path: Path) -> None:
    cells = ["def f():\n    pass", "print(f.__code__.co_filename)\nf.__code__.co_filename"]
    path = tmp_path / "names.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)]), path)
    assert notebooks.texts(notebooks.executed(path)) == [[], ["In[1]", "'In[1]'"]]
