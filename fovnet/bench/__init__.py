"""What `fovnet bench` measures; one file per benchmark.

Searches on recorded tables:
    tables       finite spaces of which every row was trained
    recording    how such a table is made
    races        methods compared: draws, or epochs, to the best
    replay       one run on a table
    spending     how a replay spends epochs
    peers        searchers of other libraries
    nomad        one of them, which owns its loop
    thesis       an experiment of a thesis, repeated
    thesis_page  its page
    teaching     what a table teaches of its space
    pace         what a proposal costs
    landscape    a simulated loss over a space
    figures      what of this is drawn
Searches on trees:
    tree_races     methods compared by the best loss after so many trainings
    tree_peers     searchers of other libraries
    tree_problem   what is searched
    tree_problems  by name: functions, networks
    tree_networks  networks of layers, really trained
    tree_pictures  on these pictures
    hyperopt_tpe   hyperopt under ask and tell
    conditional    functions with a known lowest value
On one axis:
    one_axis  processes and a search, to be drawn
Trainings, predictions, answers:
    throughput   training steps beside MONAI's pipeline
    tutorial     that pipeline
    textbook     its networks
    predicting   a prediction and its stages
    one_shot     a new process for each
    neighbours   busy processes beside it
    robustness   changed volumes, and volumes without an answer
    shares       shares with intervals over subjects
For all of them:
    together     many runs, in one process or several
    timing       the seconds of several ways, in turn

Experiments behind one table of a README are scripts of `workflow/experiments`, which import this.
"""
