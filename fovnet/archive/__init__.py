"""An archive that is asked what it holds, by DICOMweb or the DICOM network, and whose series are
answered as they come.

    query    what is asked for, as words of the command line
    opening  the archive that an address names
    plan     the plan of an archive, study by study, which goes on where it was stopped
    worklist  the table of it: a row a series, and totals
    run      the answers on its series
    reporting  the reports on its answers, until an archive has stored them
    queue    series on their way, and the pauses between attempts
    timing   hours and pace
    metrics  what a run tells while it is at work
    faults   what an archive does wrong

Behind these doors: `claims`, what an archive answers, as text; `spans` and `listing`, all studies of
an archive that limits its answers; `web`, QIDO-RS; `credentials`, how it is let in; `network`, C-FIND;
`arrival`, the images of a series, checked; `fetching` and `multipart`, WADO-RS; `retrieving`,
`getting` and `moving`, C-GET and C-MOVE; `storing`, STOW-RS; `journal`, what is done; and `page`, what
people see of a run.
"""
