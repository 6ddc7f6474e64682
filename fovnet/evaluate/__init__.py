"""Predictions and truth in, metrics with intervals out.

    cases         what an evaluation is made from: volumes with truth, probabilities, decisions
    stored_answers  the answer in the JSON of a volume
    reading       cases of a run, from disk
    answers       cases of `fovnet predict`, with the labels of a collection
    matching      which answer belongs to which labelled volume
    finished_run  the evaluation of a run, from its results folder
    evaluation    every measure, and the rows behind it
    measures      a number with its denominator and interval
    groups        measures of a group of volumes
    borders       between regions: errors in mm, missed, invented
    parts         the parts of regions: statements on them, borders between them
    calibration   whether 80 % is right in 80 %
    tallies       the counts of one volume
    paired        the difference of two runs on the same volumes
    gains         what networks gained by being trained further, by region
    comparison    the same of two evaluations on disk
    ablation      what each step is worth
    networks      the probabilities that this needs
    readers       how far two readers agree
    slices        the class of a slice
    guards        refusals of subjects used before, and of changed labels
    writing       JSON for programs, TSV for spreadsheets

Behind these doors: `arms`, `border_measures`, `headers`, `overlaps`, `risk`, `shares` and `subgroups`.
"""
