"""An archive that is asked what it holds, by DICOMweb or the DICOM network, without copying it.

    query    what is asked for, as words of the command line
    opening  the archive that an address names
    plan     the plan of an archive, study by study, which goes on where it was stopped
    worklist  the table of it: a row a series, and totals

Behind these doors: `claims`, what an archive answers, as text; `spans` and `listing`, all studies of
an archive that limits its answers; `web`, QIDO-RS; `credentials` and `session`, how it is let in;
`network`, C-FIND; and `faults`, what an archive does wrong.
"""
