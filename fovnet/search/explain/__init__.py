"""A search, looked at afterwards: how it converged, what it spent, what mattered and what failed.

    explanation      all of it, for the page and the command
    importance       which hyper-parameters of a finite space mattered, and how
    tree_importance  which variables of a tree mattered
    descent          the course of a direct search, in a finite space
    tree_descent     the course of one in a tree, structure by structure
    spent            what was spent on which trainings, where they are compared before their end
    prior_review     what earlier searches taught it, and whether that was right

Behind these doors: `corrected_seconds`, predicted times compared with measured ones; `tree_rows`, points
of a tree in place of rows.
"""
