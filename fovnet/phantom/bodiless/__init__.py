"""Things without a human body in them, in any coil and sequence: vessels, phantoms of quality
control, fruit, animals, hands.

    kinds  their names, some for training and some held out for tests
    scans  a volume of one
    noise  a volume of noise alone
"""
