"""Where to look: a Look gets a View of the search and chooses a row; it trains nothing and remembers nothing.

    view      what a Look is given, and how scores are modelled
    uniform, grid, tpe, gaussian, entropic  the Looks          fitting, failing  what the last two share
"""
