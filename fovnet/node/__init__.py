"""A DICOM node: series come in by C-STORE, structured reports go out, and a folder on disk holds
what lies between.

    node       `Node`: door, answers and delivery over one folder, until it is stopped
    places     the folders, and the moves between them
    peers      who may call, and whom reports go to, as words of the command line
    settings   what a node is told, and the limits of its door
    calling    an association with a peer
    door       what calls, and what is taken of it
    courier    who takes reports to a peer
    outbox     reports until the peer has them, and the pauses between attempts
    inbox      what has arrived, until it is at rest
    table      answers.tsv, a row of every answer
    tls        the certificates of both
    conformance  the statement that a PACS administrator asks for
    page       a page for people, about a node or a run over an archive
    answering  the same answer as `fovnet predict`, and its report

Behind these doors, in the order of a series' way: `connection`, `lobby` and `refusals`, who is
connected, and who is told why not; and `metrics`, what is told of all this on a local port.
"""
