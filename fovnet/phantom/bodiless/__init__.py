"""Things without a human body in them, in any coil and sequence: vessels, phantoms of quality control, fruit,
animals, hands.

`kinds` names them, some for training and some held out for tests; `scans` makes a volume of one.
"""
