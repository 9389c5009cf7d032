"""Translation validation: a program as rewritten is tried against the program as written, before it is used.

Source: Pnueli, Siegel & Singerman 1998, "Translation validation". Changed from the source: numbers in place of a
proof; both programs are evaluated at random inputs, and judged where the written one is well-conditioned.
"""

from relgrad.validate.blame import explicit
from relgrad.validate.points import Sample
from relgrad.validate.proof import Proof
from relgrad.validate.validate import Subject, validated

__all__ = ["Proof", "Sample", "Subject", "explicit", "validated"]
