"""Pages of the site in a browser, narrow and wide, light and dark: nothing is cut, overlaps or complains.

Without a Chromium on the system the tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, chromium
from built_site import DOCS, Site, built_site

KINDS = [
    "index",
    "tutorial/first_ten_minutes",
    "notebooks/index",
    "how-to/stable_loss",
    "how-to/find_hazards",
    "reference/transformations",
    "reference/ops",
    "catalogue/relations/index",
    "catalogue/relations/softmax",
    "catalogue/ops/exponential",
    "catalogue/ops/gather",
    "ideas/views",
    "ideas/bibliography",
    "conventions",
    "pictures",
    "architecture",
    "genindex",
]
"""Pages of each kind."""
NOTEBOOKS = [f"notebooks/{path.stem}" for path in sorted((DOCS.parent / "examples").glob("*.ipynb"))]

MEASURE = """(() => {
  const main = document.querySelector("article") || document.body;
  const shown = e => e.getClientRects().length && e.checkVisibility({visibilityProperty: true});
  const scrolls = e => {
    for (; e && e != document.body; e = e.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  const name = e => e.tagName.toLowerCase() + ": " + e.textContent.trim().slice(0, 40);
  const all = [...main.querySelectorAll("*")].filter(shown);

  // Blocks that hold text themselves, or are drawn as one piece.
  const own = e => [...e.childNodes].some(n => n.nodeType == 3 && n.textContent.trim());
  const block = e => !getComputedStyle(e).display.startsWith("inline");
  const blocks = all.filter(e => (own(e) || e.matches("pre, table, svg, img, math")) && block(e))
    .filter(e => !e.parentElement.closest("pre, svg, math"));
  const rects = blocks.map(e => e.getBoundingClientRect());
  const overlaps = [];
  for (let i = 0; i < blocks.length; i++)
    for (let j = i + 1; j < Math.min(i + 40, blocks.length); j++) {
      if (blocks[i].contains(blocks[j])) continue;
      const [a, b] = [rects[i], rects[j]];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 2) overlaps.push(name(blocks[i]) + " / " + name(blocks[j]));
    }

  const cut = all.filter(e => ["hidden", "clip"].includes(getComputedStyle(e).overflowX)
      && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1).map(name);
  const outside = blocks.filter((e, i) => rects[i].right > innerWidth + 1 && !scrolls(e)).map(name);

  // Contrast of what is written in sentences (WCAG 2.1, 1.4.3).
  const colour = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] == 1) return c;
    }
    return [255, 255, 255];
  };
  const faint = all.filter(e => e.matches("p, li, h1, h2, h3, dt, dd, td, th, code")).filter(own).filter(e => {
    const [a, b] = [light(colour(getComputedStyle(e).color)), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map(name);

  return {width: document.documentElement.scrollWidth, blocks: blocks.length, overlaps, cut, outside, faint,
          ground: light(ground(document.body))};
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this system")
    with Browser(program) as window:
        yield window


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Site:
    return built_site(tmp_path_factory)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("page", [*KINDS, *NOTEBOOKS])
def test_a_page_looks_right(page, width, theme, browser, site):
    browser.open(site.folder / f"{page}.html", width, theme)
    found = browser.run(MEASURE)
    assert found["blocks"] > 0 or page == "genindex"
    assert found["width"] <= width
    assert (found["overlaps"], found["cut"], found["outside"], found["faint"]) == ([], [], [], [])
    assert (found["ground"] < 0.2) == (theme == "dark")
    assert browser.complaints() == []


def test_what_is_wrong_is_seen(browser: Browser, tmp_path: Path):
    page = tmp_path / "page.html"
    page.write_text(
        "<body style='background: white'><article><p style='color: #ccc'>faint</p>"
        "<p style='margin-bottom: -20px'>below</p><p>above</p>"
        "<div style='overflow: hidden; width: 50px; white-space: nowrap'>longer than its box</div>"
        "<p style='width: 600px'>wide</p></article><script>console.error('no'); missing()</script>"
    )
    browser.open(page, 400, "light")
    found = browser.run(MEASURE)
    assert found["width"] > 400
    assert [len(found[key]) for key in ("overlaps", "cut", "outside", "faint")] == [1, 1, 1, 1]
    assert len(browser.complaints()) == 2
