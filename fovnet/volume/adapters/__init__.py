"""From the folder of a published data set to the two tables of a collection: one module per layout, each a
function returning Gathered."""
