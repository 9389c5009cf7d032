"""Choices between branches: a branch is looked at where it is taken only."""

import numpy as np

from relgrad.relation import relation


@relation(source="definition of a choice by cases")
def choice_within_choice(c, x, y, z):
    """Within the branch that is taken where a condition holds, the condition holds."""
    return np.where(c, np.where(c, x, y), z), np.where(c, x, z)


@relation(source="definition of a choice by cases")
def choice_beside_choice(c, x, y, z):
    """Within the branch that is taken where a condition fails, the condition fails."""
    return np.where(c, x, np.where(c, y, z)), np.where(c, x, z)
