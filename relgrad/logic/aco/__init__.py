"""Equality, matching and unification modulo declared laws: associativity, commutativity, identity, idempotence.

Generic: it knows no op, only laws. A term is read into a normal form whose equality is identity, and written back.
"""
