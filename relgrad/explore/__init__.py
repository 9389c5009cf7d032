"""Matching and unification for people who teach and explore: expressions in, answers out that print as NumPy."""
