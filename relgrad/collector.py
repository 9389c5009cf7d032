"""Python's cyclic collector, paused while programs are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """`with uncollected(): …` → no cyclic collection within.

    All that a run makes stays alive, and to look through it again and again as it grows takes as long as the run
    itself.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
