"""Settings: YAML parsed into frozen models; all faults are reported at once, before any work
begins.

    models      `Settings`, and which of them decide over the trials of a search
    files       `parse`, `load_settings` and `write_settings`; nothing deeper than `fovnet.acts` sees
                a YAML mapping
    prediction  `Prediction`, of a file of its own: an archive answered shard by shard
    node        `NodeOptions`, of a file of its own, too: a DICOM node
    mercure     `MercureSettings`, of a task of mercure: a module there
    numbers     as people write them
    reading     `read_yaml`
    yaml_text   what a YAML text says otherwise than it looks
    regions     `vocabulary`: the regions that a configuration names
    search      the settings of a search, and which methods they are of
    named_trees  spaces of layers that have a word, from files in `trees`
    space       its axes as a user writes them, and the word for the space of the members

Behind these doors: `training`, how a network is trained; `section`, what all parts have in common;
`faults`, words for what is wrong.
"""
