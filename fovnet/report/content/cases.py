"""The chapter on single volumes: those that failed, and those chosen for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.config.models import Report
from fovnet.evaluate.cases import Case
from fovnet.evaluate.evaluation import Evaluation
from fovnet.report.content.failures import FailuresView, failures_view
from fovnet.report.content.pictures import VolumeView, choose_pictures


@dataclass(frozen=True)
class CasesChapter:
    """Failures, and volumes with their pictures.

    gallery  whether volumes are pictured
    faces    whether slices that may show a face are
    """

    failures: FailuresView
    pictures: tuple[VolumeView, ...]
    gallery: bool
    faces: bool


def cases_of(evaluation: Evaluation, cases: Sequence[Case], options: Report) -> CasesChapter:
    """The chapter; without `options.gallery` failures are named and no volume is pictured."""
    shown_cases = cases if options.gallery else ()
    return CasesChapter(
        failures=failures_view(evaluation, shown_cases, options.volumes_shown, faces=options.faces),
        pictures=choose_pictures(evaluation, shown_cases, faces=options.faces),
        gallery=options.gallery,
        faces=options.faces,
    )
