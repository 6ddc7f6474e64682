"""Where to look: a Look gets a View of the search and chooses a row; it trains nothing and remembers nothing.

    view      what a Look is given, and how scores are modelled
    uniform, grid, tpe, gaussian, entropic, mads, a_mads, ranking, ensemble, rgpe  the Looks
    hyperparameters, feasibility  what those with a model share      mesh  what direct searches share
    guard     whether what earlier searches taught misleads
"""
