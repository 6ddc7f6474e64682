"""The computer: its memory, threads and locks, and how long a long task takes.

    memory, allocation  peak memory of this process, and what becomes of freed blocks
    threads, cores      one thread for linear algebra; how many may compute side by side
    parallel            jobs in several processes, their results in order
    locks               between processes, on a file
    pace                the rate of a long task, and its remaining time
"""
