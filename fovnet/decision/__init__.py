"""From slice probabilities to spans, and the reasons to doubt them.

    model, shipped    prediction from Python, and the ensemble that comes with the package
    predict           new volumes, one after another;  packed  those of a sliced collection
    ensemble, judge   the networks with their rule, and an answer from their outputs
    chain             the order of the body, decoded: spans, borders, confidences
    checks, doubts    a file a doubt, and their list
    rule, fitting     the settings of the decision, and how they are chosen on the validation split
    answer, kept      an answer as rows and JSON, and which earlier ones are still valid
    novelty, orientation, dark_slices   what pictures tell besides
"""
