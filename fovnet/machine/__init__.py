"""The computer: its memory, threads and locks, and how long a long task takes.

memory      peak memory of this process
allocation  what becomes of freed blocks
threads     one for linear algebra
cores       how many may compute side by side
parallel    jobs in several processes, their results in order
locks       between processes, on a file
ports       why one cannot be listened at, and what to try
supervisor  signs of life for systemd
pace        the rate of a long task, and its remaining time
"""
