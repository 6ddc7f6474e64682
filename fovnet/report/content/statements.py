"""Texts of every report: intended use, uses that are not intended, limitations, references."""

from __future__ import annotations

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.evaluate.measures import FEWEST_SUBJECTS

USE = (
    "To sort, index and route MRI volumes by the body regions they show: finding series in an "
    "archive, choosing the processing that fits, checking that the field of view covers what was "
    "ordered, adding the body part where the header lacks it.",
    "For people who keep or use an image archive; a person can check every answer against its "
    "picture, and must check what is marked unsure.",
)

NOT_FOR = (
    "diagnosis, triage, treatment planning, dose, or any decision about a patient",
    "modalities other than MRI",
    "anatomy that the training collections lack: small children, animals, amputations, prone or "
    "decubitus positions, unless they are listed below",
    "scanners or sites whose images are unlike all collections below",
)

LIMITS = (
    "Figures on a simulated collection show that the method works, not how well it works on a "
    "scanner: look for a subgroup of a collection like yours; if there is none, there is no figure "
    "for it.",
    "The intervals tell how the figures would vary with other subjects of the same collections; "
    "they say nothing about other hospitals.",
    "The labels are taken to be right. A reader’s own variation, and errors in the table, count as "
    "errors of fovnet.",
    "The test split was not looked at in training, search or tuning; changing settings after "
    "reading this report and evaluating again on the same split breaks this.",
    "The confidence was calibrated on the validation split; on images of another kind it may be "
    "wrong without warning.",
)

REFERENCES = (
    "H. Bertrand, M. Perrot, R. Ardon, I. Bloch. Classification of MRI data using deep learning "
    "and Gaussian process-based model selection. IEEE International Symposium on Biomedical "
    "Imaging (ISBI), 2017.",
    "F. Hutter, H. Hoos, K. Leyton-Brown. An efficient approach for assessing hyperparameter "
    "importance (fANOVA). ICML, 2014.",
)

STATED = {
    "interval_percent": 95,
    "agreement_mm": AGREEMENT_MM,
    "fewest_subjects_of_a_subgroup": FEWEST_SUBJECTS,
    "calibration_error_that_would_look_bad": 0.1,
    "least_regret_drawn": 1e-5,
}
"""Numbers in captions that are constants, not measurements."""
