"""What a run does, act by act, from Python or from the command line, which only parses, calls and
prints.

run              `Run`: the settings, and what follows from them, computed once
settings         those of a configuration file
opening          `OpenRun`: the same with its acts as methods; `fovnet.open` gives it
slices           those in the results folder, refused where they were cut with other settings
warm_start       the ensemble that trainings begin with
search_space     the rows of the search, and the first one tried
pricing          the costs of these rows on a device, configured or measured
search_prior     what earlier searches taught
search_plan      the search of a run: its data, trainings and journal
finished_search  the last one that finished
search_explanation  what a search came to, and why
learn            what earlier searches taught
adapt            networks fitted to few labelled volumes, by the folds of `adaptation`
people           simulated people who come with a model for that
prepare          people simulated, volumes cut into slices
search           networks found
slots            a search slot by slot, as a cluster does
ensemble         members made and slices scored
tune             the decision rule
decide           the test split answered
evaluate         held against the truth
report           the page
shards           new volumes answered shard by shard, as a cluster does
"""
