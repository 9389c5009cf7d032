"""The collection of cases, which lies among the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from cases import CASES, KINDS, Case  # after the path to them
from cases.case import NUMPY
from cases.judge import Verdict, judge
from cases.reference import read, stored

__all__ = ["CASES", "KINDS", "NUMPY", "Case", "Verdict", "judge", "read", "stored"]
