"""Extensions of Sphinx that this site needs: formulas without scripts, docstrings as they are written, catalogues."""
