"""Recorded problems, races between search methods, and what is fast, right or robust; one file per benchmark.

Searches on recorded tables:
    tables      finite spaces of which every row was trained
    recording   how such a table is made
    races       methods compared: draws, or epochs, to the best
    spending    how a replay spends epochs
    ranks       methods ranked on many tables
    lessons     earlier searches, made of tables
    bounds      draws that random search needs
    edge        near the limit of memory
    pace        what a proposal costs
    sorting     networks that learn an order
    another_model  the search on an autoencoder
    thesis      an experiment of a thesis, repeated
    thesis_page  its page
    teaching    what a table teaches of its space
    figures     what of this is drawn
    together    many runs, in one process or several
    timing      the seconds of several ways, in turn
Trainings, predictions, answers:
    throughput  training steps beside MONAI's pipeline
    plain       whether fast training costs accuracy
    slicing     from a file to slices
    predicting  a prediction and its stages
    engines     torch and ONNX Runtime
    deciding    a decision beside textbooks' recursions
    coverage    intervals where slices are correlated
    robustness  changed volumes, and volumes without an answer
    screening   every feature of the simulator, by one design
    simulated_training  one network on simulated people
"""
