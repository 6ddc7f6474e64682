"""What `fovnet bench` draws.

one_axis    processes and a search on one axis
race        how soon each method finds the best row
standings   a race as tables and as a figure
thesis      two searches draw by draw on one table
throughput  images per second, and where a step's time goes
"""
