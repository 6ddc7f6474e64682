"""Search methods: which configuration to train next, and how far; independent of images and tensors.

    space    the configurations, a finite table
    tree     spaces whose number of variables changes
    trial    a proposal, the outcome of its training, and both together
    search   a `Search`, and its proposal for a slot
    tree_search  a search over a tree
    methods  look and spend by name
    look     where to look
    spend    how much to spend
    run      a search in one process
    jobs     a search slot by slot, each a job of its own
    journal  what a search leaves on disk, valid at any moment
    slot_files  the trials in it
    prior    what earlier searches taught, as a file
    learn    how it is learned from their journals
    explain  a search, looked at afterwards

Behind these doors: `clock`, what a slot has seen.
"""
