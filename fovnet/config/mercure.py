"""The settings of a rule of mercure, the DICOM orchestrator, for the module that fovnet is there."""

from __future__ import annotations

from typing import Literal

from fovnet.choices import IncludableSeries
from fovnet.config.section import Section


class MercureSettings(Section):
    """What `fovnet mercure` is told: options of `fovnet predict`; and whether there are reports.

    model  an ensemble folder in the container; "" for the networks of the package
    """

    model: str = ""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    include: list[IncludableSeries] = []
    reports: bool = True
