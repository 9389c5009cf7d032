"""The site of docs/: it builds without a warning, its links lead somewhere, its catalogues are whole, its code runs."""

from __future__ import annotations

import doctest
import json
import posixpath
import re
import sys
from html.parser import HTMLParser
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from built_site import DOCS, MISSING, Site, built_site, is_source
from pages import agrees, blocks, untrue

import relgrad as rg

ELSEWHERE = {"matching", "python", "validation", "conventions"}
"""Pages whose examples are tested beside what they are about."""
WRITTEN = sorted(
    p for p in DOCS.rglob("*.md") if is_source(p) and not {"catalogue", "notebooks"} & set(p.parts)
)
"""Pages that people write."""
RUN = [p for p in WRITTEN if p.stem not in ELSEWHERE]
ROWS = sorted(row.name for row in rg.LIBRARY)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return built_site(tmp_path_factory)


@pytest.fixture(scope="module")
def generated() -> Any:
    """The module that writes the catalogues."""
    pytest.importorskip("sphinx", reason=MISSING)
    sys.path.insert(0, str(DOCS))
    try:
        from extensions import generated
    finally:
        sys.path.remove(str(DOCS))
    return generated


class Page(HTMLParser):
    """What a page links to, loads and can be linked to at; its headings of the first level."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.sidebar: set[str] = set()
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.titles = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.anchors.update(found[key] for key in ("id", "name") if key in found)
        self.titles += tag == "h1"
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
            if "reference internal" in found.get("class", ""):
                self.sidebar.add(found["href"])
        if tag in ("script", "img", "source", "iframe") and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def read(site: Site) -> dict[str, Page]:
    return {name: Page(text) for name, text in site.pages.items()}


# Building


def test_the_site_builds_without_a_warning(site):
    assert (site.status, site.said.strip()) == (0, "")


def test_every_page_has_one_title_and_stands_in_the_contents(read):
    assert {name: page.titles for name, page in read.items() if page.titles != 1} == {}
    assert {"index.html" if link == "#" else link for link in read["index"].sidebar} >= {
        f"{name}.html" for name in read if name != "index"
    }


def test_links_within_the_site_lead_to_a_page_and_a_place_on_it(site, read):
    lost = []
    for name, page in read.items():
        for link in page.links:
            path, anchor = urldefrag(link)
            if urlsplit(link).scheme or link in ("#", ""):
                continue
            target = (
                posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else f"{name}.html"
            )
            other = read.get(target.removesuffix(".html"))
            if not (site.folder / target).exists() or (
                other and anchor and unquote(anchor) not in other.anchors
            ):
                lost.append((name, link))
    assert lost == []


def test_blocks_of_the_tutorial_can_be_pasted_into_an_interpreter():
    text = (DOCS / "tutorial" / "first_ten_minutes.md").read_text(encoding="utf-8")
    lines = "\n".join(block.code for block in blocks(text)).split("\n")
    ends = [b for a, b in pairwise(lines) if a.startswith(" ") and b and not b.startswith(" ")]
    assert ends == []  # a line of its own ends what is indented


def test_a_page_loads_nothing_from_the_network(read):
    assert [(name, x) for name, page in read.items() for x in page.loaded if urlsplit(x).netloc] == []


def test_links_to_elsewhere_are_addresses(read):
    found = [urlsplit(link) for page in read.values() for link in page.links if urlsplit(link).scheme]
    assert [url for url in found if url.scheme not in ("https", "http") or "." not in url.netloc] == []
    assert found


def test_no_page_names_a_path_of_the_machine(site):
    home = str(DOCS.parent)
    assert [name for name, text in site.pages.items() if home in text] == []


# What is listed


def test_every_public_name_is_in_the_reference(site):
    from sphinx.util.inventory import InventoryFile

    with (site.folder / "objects.inv").open("rb") as file:
        known = InventoryFile.load(file, "", posixpath.join)
    documented = {name for kind, found in known.items() if kind.startswith("py:") for name in found}
    missing = sorted(name for name in rg.__all__ if f"relgrad.{name}" not in documented)
    assert missing == []


def test_every_row_is_in_the_catalogue_and_no_other(read):
    anchors = set().union(*[p.anchors for name, p in read.items() if name.startswith("catalogue/relations/")])
    assert [name for name in ROWS if name.replace("_", "-") not in anchors] == []
    assert sorted(json.loads((DOCS / "catalogue.json").read_text())) == ROWS, "say `make catalogue`"


def test_every_op_is_in_the_catalogue(read, generated):
    anchors = set().union(*[p.anchors for name, p in read.items() if name.startswith("catalogue/ops/")])
    expected = [generated.anchor(op) for op in generated.HOMES if not generated.name_of(op).startswith("_")]
    assert [name for name in expected if name not in anchors] == []
    assert {"op-exponential-exp", "op-reduction-sum", "op-softmax-logsumexp"} <= set(expected)


@pytest.mark.parametrize("name", ROWS[::60])
def test_what_the_catalogue_says_of_a_row_is_measured_again(name, generated):
    pytest.importorskip("flint")
    from extensions.rows import measured

    known, found = json.loads((DOCS / "catalogue.json").read_text())[name], measured(rg.LIBRARY[name])
    for key in ("written", "rewritten"):
        assert found.get(key) == pytest.approx(known.get(key), abs=1.0)
    assert set(found["spellings"]) <= set(known["spellings"]) or set(known["spellings"]) <= set(
        found["spellings"]
    )


def test_conditions_are_shown_as_they_are_written(generated):
    from extensions.rows import conditions

    assert conditions(rg.LIBRARY["exponential_of_logarithm"]) == ["positive(x)"]
    assert [r.name for r in rg.LIBRARY if len(conditions(r)) != len(r.conditions)] == []


@pytest.mark.parametrize("name", ["docstrings", "generated", "mathematics", "rows"])
def test_the_examples_of_the_extensions_are_true(name, generated):
    assert doctest.testmod(import_module(f"extensions.{name}")).failed == 0


def test_a_public_name_that_no_page_describes_has_its_docstring(generated, tmp_path, monkeypatch):
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        (tmp_path / page.name).write_text("".join(x for x in text.splitlines(True) if " jvp" not in x))
    monkeypatch.setattr(generated, "REFERENCE", tmp_path)
    assert ".. autofunction:: jvp" in generated.further()
    (tmp_path / "transformations.md").write_text(".. autofunction:: jvp")
    assert "jvp" not in generated.further()


def test_pages_are_written_only_where_their_text_changes(generated, tmp_path):
    page = tmp_path / "page.md"
    generated.fill(tmp_path, iter([("page.md", "a")]))
    first = page.stat().st_mtime_ns
    generated.fill(tmp_path, iter([("page.md", "a"), ("other.md", "b")]))
    assert page.stat().st_mtime_ns == first
    generated.fill(tmp_path, iter([("other.md", "b")]))
    assert [p.name for p in tmp_path.iterdir()] == ["other.md"]


# What is shown runs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", RUN, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_the_blocks_of_a_page_print_what_it_says(path: Path, monkeypatch, tmp_path):
    pytest.importorskip("flint")
    monkeypatch.chdir(tmp_path)
    assert untrue(path) == []


def test_the_tutorial_has_outputs_for_most_of_its_blocks():
    found = list(blocks((DOCS / "tutorial" / "first_ten_minutes.md").read_text()))
    assert len(found) >= 6 and sum(block.output is None for block in found) == 0


def test_a_wrong_output_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n\n```python\n>>> 1 + 1\n2\n\n```\n")
    assert [text.partition("\n")[0] for text in untrue(page)] == ["page.md:2 prints"]
    assert agrees("a … d", "a b c d") and not agrees("a … d", "a b c")


@pytest.mark.parametrize("path", WRITTEN, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_pages_can_be_read_where_they_are_not_built(path):
    """Of MyST they use only what GitHub shows as a link, a formula or a block."""
    text = path.read_text(encoding="utf-8")
    directives = set(re.findall(r"^```\{([\w:-]+)\}", text, re.MULTILINE))
    assert directives <= {"toctree", "eval-rst", "py:data", "py:function"}
