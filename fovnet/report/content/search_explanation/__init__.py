"""A search explained, in words and tables: the same sentences on the terminal and on the page.

view           the section of the page, and all its sentences as paragraphs

ending         how many trials are finished, and why the search stopped
convergence    when the best score came, what trainings took, what more trials may gain
direct_search  the steps of a search that polls around its best configuration
lessons        what earlier searches taught, and whether it was right
spending       what the epochs went to, rung by rung
forecasts      whether scores fell inside their forecast bands
importance     shares of the axes in the variance of the final model
failures       trials without a score
"""
