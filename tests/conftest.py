"""The sample of a law's cases that the suite tries; `make fuzz` tries the others."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings

# A busy machine is slow, and nothing is wrong with that. The suite draws the same cases everywhere, so that a green
# one is green elsewhere; `make fuzz` draws others.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None)
settings.load_profile("suite")


GOLDEN = (5**0.5 - 1) / 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all cases of a test marked `sampled(n)` but one in n.

    Multiples of the golden ratio spread evenly, and in step with no parameter: none has one value in all of the sample.
    """
    before: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None:
            name = item.nodeid.partition("[")[0]
            if before[name] * GOLDEN % 1 >= 1 / mark.args[0]:
                item.add_marker(pytest.mark.slow)
            before[name] += 1
