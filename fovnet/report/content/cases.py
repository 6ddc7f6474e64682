"""The chapter on single volumes: those that failed, and those chosen for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.config.models import Report
from fovnet.evaluate.cases import Case
from fovnet.evaluate.evaluation import Evaluation
from fovnet.report.content.failures import FailuresView, failures_view
from fovnet.report.content.pictures import VolumeView, chosen_pictures


@dataclass(frozen=True)
class Cases:
    """Failures, and volumes with their pictures.

    gallery  whether volumes are pictured;  faces  whether slices that may show a face are
    """

    failures: FailuresView
    pictures: tuple[VolumeView, ...]
    gallery: bool
    faces: bool


def cases_of(evaluation: Evaluation, cases: Sequence[Case], options: Report) -> Cases:
    """The chapter; without `options.gallery` failures are named and no volume is pictured."""
    shown = cases if options.gallery else ()
    return Cases(
        failures=failures_view(evaluation, shown, options.volumes_shown, faces=options.faces),
        pictures=chosen_pictures(evaluation, shown, faces=options.faces),
        gallery=options.gallery,
        faces=options.faces,
    )
