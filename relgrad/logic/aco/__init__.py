"""Equality, matching and unification modulo declared laws: associativity, commutativity, identity, idempotence.

    theory.py      which laws hold of which head; carriers.py, how terms are written
    node.py        normal forms, whose equality is identity, and normal.py, how terms are read into them
    match.py       pattern against a ground subject; problems.py, what has to be shared out; candidates.py, among which
    unify.py       a fair search for unifiers; equation.py, what needs no choice; acu, aci, plotkin, collapse, what does
    goal.py        the goal `eq_aco`

Generic: it knows no op, only laws.
"""
