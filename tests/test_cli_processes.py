"""The command line as a process: who stops it, who stops reading, and what it says on a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from relgrad import progress as module
from relgrad.progress import progress

COMMAND = [sys.executable, "-m", "relgrad"]


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [*COMMAND, "relations", "--search", "softmax"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "log_of_softmax" in done.stdout


def test_who_reads_no_further_hears_no_complaint():
    process = subprocess.Popen([*COMMAND, "relations", "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


def _hears_interrupts() -> None:
    """Undo what a shell does to its jobs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as terminals do")
def test_an_interrupt_ends_a_command_without_a_traceback(tmp_path):
    path = tmp_path / "slow.py"
    path.write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [*COMMAND, "lint", f"{path}:f"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hears_interrupts,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "interrupted\n"


class Terminal:
    """What is written to a terminal."""

    def __init__(self, is_one=True):
        self.text, self.is_one = "", is_one

    def isatty(self):
        return self.is_one

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def terminal(monkeypatch):
    def make(is_one=True, after=0.0, term="xterm"):
        found = Terminal(is_one)
        monkeypatch.setattr(sys, "stderr", found)
        monkeypatch.setattr(module, "AFTER", after)
        monkeypatch.setattr(module, "EVERY", 0.0)
        monkeypatch.setenv("TERM", term)
        return found

    return make


def test_progress_is_one_line_that_is_gone_at_the_end(terminal):
    found = terminal()
    with progress("counting", range(3)) as items:
        assert list(items) == [0, 1, 2]
    assert "relgrad: counting, 2 of 3" in found.text
    assert "\n" not in found.text
    assert found.text.endswith("\r\x1b[K")


def test_progress_is_gone_where_the_work_raises(terminal):
    found = terminal()
    with pytest.raises(KeyError), progress("counting", range(3)) as items:
        for _ in items:
            raise KeyError
    assert found.text.endswith("\r\x1b[K")


@pytest.mark.parametrize("how", [{"is_one": False}, {"after": 60.0}, {"term": "dumb"}])
def test_progress_is_quiet_where_nobody_sees_it_and_before_a_second(terminal, how):
    found = terminal(**how)
    with progress("counting", range(3)) as items:
        assert list(items) == [0, 1, 2]
    assert found.text == ""


def test_progress_is_no_faster_than_it_can_be_read(terminal, monkeypatch):
    found = terminal()
    monkeypatch.setattr(module, "EVERY", 60.0)
    with progress("counting", range(50)) as items:
        assert len(list(items)) == 50
    assert found.text.count("relgrad:") == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals of this kind")
def test_a_check_of_the_library_says_how_far_it_is(tmp_path):
    pytest.importorskip("flint")
    path = tmp_path / "rows.py"
    path.write_text(
        "import relgrad, relgrad.progress\n"
        "relgrad.progress.AFTER = 0.0\n"
        "a, b, *_ = relgrad.LIBRARY.restricted('log_of_exponential', 'exponential_of_logarithm')\n"
    )
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    command = [*COMMAND, "check", "--samples", "6", str(path)]
    with open(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
        os.close(theirs)
        told, end = b"", time.monotonic() + 120
        while time.monotonic() < end:
            try:
                part = screen.read(4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            told += part
        assert process.wait(60) == 0
    assert b"relgrad: checking relations, " in told
    assert told.endswith(b"\r\x1b[K")
