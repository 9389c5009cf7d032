"""Goals on terms: unification, views of products and sums, matching modulo them, side conditions.

    unify.py       terms under logical-unification's own dispatch
    theory.py      which ops the theories of sums and products read
    view.py        how a sum or a product is read, and build.py, how it is written back
    match.py       pattern against subject, modulo the theories, in one order of work for all of them
    multisets.py   what that order asks of products, of sums and of operands; heads.py, which parts a head may match
    parts.py       parts that must be there, taken out
    index.py       which of many patterns may match at a place, and which of many parts an equation may concern
    rewrite.py     an equation applied at a place, with what surrounds it carried along
    goals.py       the same as goals for kanren, at the root and anywhere
    simplify.py    what the theories license without any row, and masks.py, where a factor is zero
    aco/           matching and unification modulo laws that heads declare

This is the only room that imports `kanren`, `unification` and `cons`.
"""
