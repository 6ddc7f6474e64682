"""The chapter on single volumes: those that failed, and those chosen for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fovnet.config.models import Report
from fovnet.evaluate.cases import Case
from fovnet.evaluate.evaluation import Evaluation
from fovnet.records import json_key
from fovnet.report.content.failures import FailuresView, failures_view
from fovnet.report.content.pictures import VolumeView, choose_pictures


@dataclass(frozen=True)
class CasesChapter:
    """Failures, and volumes with their pictures.

    has_gallery      whether volumes are pictured
    are_faces_shown  whether slices that may show a face are not covered
    """

    failures: FailuresView
    pictures: tuple[VolumeView, ...]
    has_gallery: bool = field(metadata=json_key("gallery"))
    are_faces_shown: bool = field(metadata=json_key("faces"))


def cases_of(evaluation: Evaluation, cases: Sequence[Case], options: Report) -> CasesChapter:
    """The chapter on single volumes; without `options.gallery` failures are named and no volume is
    pictured."""
    pictured_cases: Sequence[Case] = ()
    if options.gallery:
        pictured_cases = cases
    return CasesChapter(
        failures=failures_view(
            evaluation, pictured_cases, options.volumes_shown, faces=options.faces
        ),
        pictures=choose_pictures(evaluation, pictured_cases, faces=options.faces),
        has_gallery=options.gallery,
        are_faces_shown=options.faces,
    )
