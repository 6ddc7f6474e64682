"""What a run does, act by act, from Python or from the command line, which only parses, calls and prints.

run       `Run`: the settings, and what follows from them, computed once
opening   `OpenRun`: the same with its acts as methods; `fovnet.open` gives it
learn     what earlier searches taught
adapt     networks fitted to few labelled volumes, by the folds of `adaptation`
prepare   people simulated, volumes cut into slices
search    networks found
slots     a search slot by slot, as a cluster does
ensemble  members made and slices scored
tune      the decision rule
decide    the test split answered
evaluate  held against the truth
report    the page
shards    new volumes answered shard by shard, as a cluster does
"""
