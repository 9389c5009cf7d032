"""The picture of a run of `accuracy.py`: how large the errors are, and which families are solved by whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

COLOURS = {
    "NumPy": "#9a9a9a",
    "JAX": "#b07aa1",
    "PyTorch": "#e15759",
    "autograd": "#edb120",
    "PyTensor": "#4e9ac7",
    "relgrad": "#1b7837",
}
STYLES = {"NumPy": ":", "JAX": "--", "PyTorch": "-.", "autograd": ":", "PyTensor": "-", "relgrad": "-"}
SHARE = LinearSegmentedColormap.from_list("share", ["#fbe3d6", "#fdf6e3", "#cfe8cf", "#7fc28a"])


def draw(results: Any, peers: list[str], path: Path) -> None:
    """Write the picture: PNG or SVG, by its name."""
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    results = {(_drawn(family), family, *rest): row for (family, *rest), row in results.items()}
    families = list(dict.fromkeys(family for family, *_ in results))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(12, 0.27 * len(families) + 1.6), width_ratios=(1, 1.25)
    )
    errors(left, results, peers)
    shares(right, results, families, peers)
    figure.tight_layout()
    figure.savefig(
        path, dpi=120, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else None
    )


def _drawn(family: str) -> str:
    """Return the family under which a question is drawn: those of single formulas are one."""
    return "further formulas" if family.endswith(" formulas") else family


def errors(axes: Any, results: Any, peers: list[str]) -> None:
    """Draw, for each peer, the share of answers whose error is at most so many bits."""
    for peer in peers:
        bits = np.sort([row[peer].bits for row in results.values() if peer in row])
        share = 100 * np.arange(1, len(bits) + 1) / len(bits)
        thick = 2.8 if peer == "relgrad" else 1.6
        label = f"{peer} (values only)" if peer == "NumPy" else peer
        style = {"color": COLOURS[peer], "linestyle": STYLES[peer], "linewidth": thick, "label": label}
        axes.step([0, *bits, 64], [0, *share, 100], where="post", **style)
    axes.axvline(6, color="#cccccc", linewidth=1, zorder=0)
    axes.text(6.6, 2, "64 units in the\nlast place: passed", color="#777777", fontsize=8.5)
    axes.set(xlim=(0, 64), ylim=(0, 100.5), xticks=range(0, 65, 8), yticks=range(0, 101, 20))
    axes.set_xlabel("error in bits (64: overflow, NaN, nothing right)")
    axes.set_ylabel("answers with at most that error, %")
    axes.set_title(f"{len(results)} values, gradients and Hessian products", loc="left", fontsize=11)
    axes.grid(color="#eeeeee")
    axes.legend(frameon=False, loc="center", bbox_to_anchor=(0.55, 0.74))


def shares(axes: Any, results: Any, families: list[str], peers: list[str]) -> None:
    """Draw the share of the answers that pass, for each family and peer."""
    table = np.full((len(families), len(peers)), np.nan)
    for i, family in enumerate(families):
        rows = [row for (f, *_), row in results.items() if f == family]
        for j, peer in enumerate(peers):
            if asked := [row[peer].ok for row in rows if peer in row]:
                table[i, j] = 100 * np.mean(asked)
    axes.imshow(table, cmap=SHARE, vmin=0, vmax=100, aspect="auto")
    for (i, j), share in np.ndenumerate(table):
        text = "–" if np.isnan(share) else f"{int(share)}"
        axes.text(j, i, text, ha="center", va="center", fontsize=9, color="#222222")
    axes.set_xticks(range(len(peers)), peers)
    axes.set_yticks(range(len(families)), families, fontsize=9)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(1, len(peers)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(families)) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="minor", length=0)
    axes.set_title("passed, %, by family", loc="left", fontsize=11)
