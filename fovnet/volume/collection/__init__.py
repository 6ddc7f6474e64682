"""Labelled volumes, and their slices on disk.

    tables     volumes.tsv and regions.tsv, read with every fault named
    table_rows, table_lines   the rows of both, and the lines that they are read from
    truth      which classes the cuts of a volume show, by its labels
    pack       all slices of all volumes in one memory-mapped array
    preflight  what of the tables would stop or spoil a run
    changed    a stamp that shows whether a collection has changed
    split      subjects for training, validation and test
    folds      subjects for cross-validation
    identity   identifiers in what is written: hashed, unless plain ones are asked for
    body_part  regions from Body Part Examined (0018,0015)

Behind these doors: `cache`, slices kept between runs, and `table_checks`, what lines of the tables
contradict.
"""
