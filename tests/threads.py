"""Work that several threads do at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


def failures(work: Callable[[int], None], count: int = 8) -> list[BaseException]:
    """work(0), work(1), …, each in a thread of its own, begun together: what they raise."""
    barrier = threading.Barrier(count)
    found: list[BaseException] = []

    def one(i: int) -> None:
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
