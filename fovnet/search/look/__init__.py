"""Where to look: a Look gets a View of the search and chooses a row; it trains nothing and remembers nothing.

view             what a Look is given, and how scores are modelled
uniform, grid, tpe, gaussian, entropic, mads, a_mads, ranking, ensemble, rgpe  the Looks
hyperparameters  of the Gaussian process
mesh             of direct searches, and which rows are neighbours
neighbour_rules  which neighbours a point of a tree has
feasibility      which rows cannot be trained
guard            whether what earlier searches taught misleads
"""
