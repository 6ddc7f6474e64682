"""Formats of `fovnet export`.

    answers     what `fovnet predict` wrote, read again
    structured  DICOM structured reports
    copies      images with corrected headers
    headers     Body Part Examined compared with the answers
    bids        sidecars of a BIDS derivative
    dicom_ownership  which files are fovnet's own

Behind these doors: `originals`, the objects that an answer was made from; `inherited`, what reports
take over from their headers; `anatomy`, what headers say of the regions shown; `identity`, the UIDs
of all that an object says.
"""
