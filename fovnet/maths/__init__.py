"""Arrays in, arrays out; numpy and scipy; every file cites its source, and every file is a door.

Gaussian processes and searches:
    gp                 regression, one lengthscale a column
    growing            the same, extended with every trial
    kernels            expected correlation by distance
    scales             lengthscales, composed of those of axes and of levels
    ranks              of scores, ties by their mean
    warping            scores, transformed so that a huge loss does no harm
    slice_sampling     samples from a posterior with a normal prior
    acquisition        improvement, bounds
    entropy            what a trial tells about the minimum
    parzen             densities of one axis, as hyperopt has them
    threshold          an unknown limit, from earlier outcomes
    poll               directions that span the space
    interpolant        through scattered values
    effects            main effects and interactions of a finite table
    draws              how many random draws find a good row
Networks in numpy:
    scorers            many small ones, trained at once
    rankers            those that may know the task
    ranking_losses     losses where only the order is known
    normal_likelihood  a mean and a variance a row
    softmax_regression  a last layer, fitted anew
Along the body:
    chain_recursion      dynamic programming over ordered states
    plain_runs           its runs, where no height of a rung is known
    ladder               the best path, and all paths, with or without known heights
    intersections        the paths of the thesis
    smoothing            in millimetres
    ordering             whether neighbours are alike
    roughness            whether slices are in any order
Pictures:
    gradients          histograms of the orientation of edges
    turns              the orientations in which a body may lie
Statistics:
    intervals          of proportions and of clustered observations
    ranking            the area under the curve, clustered
    agreement          between forecasts of the same cases
    betting            whether a mean lies below a limit
"""
