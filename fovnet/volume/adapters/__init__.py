"""From a tree as somebody published it to the two tables of a collection: one file a layout, each a function from folder to Gathered."""
