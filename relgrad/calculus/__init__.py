"""Calculus on graphs: what functions are near a point, and how far they are apart at two."""
