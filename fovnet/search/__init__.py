"""Search methods: which configuration to train next, and how far; independent of images and tensors.

    methods   look and spend by name        search     a Search, and its proposal for a slot
    look      where to look                 spend      how much to spend
    run, jobs, journal  a search in one process, or slot by slot, and what it leaves on disk
    prior, sources, meta_training  what earlier searches taught, read from journals, learned
    explanation  of a search afterwards; taught, descent, spent  parts of it
"""
