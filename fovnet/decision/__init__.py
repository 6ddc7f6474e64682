"""From slice probabilities to spans, and the reasons to doubt them.

    model             prediction from Python
    shipped           the ensemble that comes with the package
    predict           new volumes, one after another
    scored_slices     those of a sliced collection
    ensemble          the networks with their rule
    folder            the model folder on disk, each part read once
    networks          its networks, ready to compute
    assembly          a new ensemble from the trials of a search
    parts             its files, each read only if it is a plain one
    layer_inputs      what last layers are given for a volume, instead of its pixels
    judge             an answer from their outputs
    chain             the order of the body, decoded: spans, borders, confidences
    checks            one file per doubt
    doubts            their list
    rule              the settings of the decision
    fitting           how they are chosen on the validation split
    calibrations      stated probabilities, corrected there
    confidence_bar    from which confidence on an answer is given
    member_weights    in the ensemble's mean
    scores            what the members say of the slices of a run
    statements        what is said of each region: yes, no or unsure
    division          a sure region divided into its parts
    answer            as rows and JSON
    answers_table     one row per volume, a few columns a region
    earlier_answers   which earlier answers are still valid
    made_from         what a run's decisions were made from
    bundle            the ensemble as a MONAI Bundle
    novelty, orientation  what pictures tell besides

Behind these doors: `dark_slices` and `picture`.
"""
