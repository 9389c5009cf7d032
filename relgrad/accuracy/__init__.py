"""How accurate a function is, whether a relation is true, and where floating point is in danger.

Everything is measured against the same graphs in ball arithmetic, by the declarations of their ops.
"""
