"""What generated code looks like: each file in `golden/` holds a function and the program that comes of it.

Run this file as a script to write the programs anew; then read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relgrad.compile.function import compile_program
from relgrad.trace.trace import trace

FILES = sorted((Path(__file__).parent / "golden").glob("*.txt"))
RULE = "=====\n"


def program_of(path: Path) -> tuple[str, str, str]:
    """Return the function's text, the program that is expected, and the one that is generated."""
    function, _, expected = path.read_text().partition(RULE)
    namespace: dict[str, Any] = {"np": np}
    exec(function, namespace)
    traced = trace(namespace["f"], namespace["args"])
    return function, expected, compile_program(traced, traced.outputs, path.stem).source


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_generated_code_reads_like_this(path: Path) -> None:
    _, expected, source = program_of(path)
    assert source == expected


if __name__ == "__main__":
    for path in FILES:
        function, _, source = program_of(path)
        path.write_text(function + RULE + source)
