"""The chapter on provenance: versions, hashes and the complete configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from fovnet.config.models import Settings
from fovnet.report.content.cells import ReportTable


@dataclass(frozen=True)
class ProvenanceChapter:
    """Versions of the software and the seed; SHA-256 by what was hashed; the settings as YAML."""

    versions: ReportTable
    hashes: ReportTable
    configuration: str


def provenance_of(
    settings: Settings, versions: Mapping[str, str], hashes: Mapping[str, str]
) -> ProvenanceChapter:
    """The chapter on provenance.

    versions  of the software, by name
    hashes    SHA-256 by the name of what was hashed
    """
    return ProvenanceChapter(
        versions=ReportTable(
            ("what", "value"), (*versions.items(), ("seed", str(settings.seed))), name="versions"
        ),
        hashes=ReportTable(("what", "SHA-256"), list(hashes.items()), name="hashes"),
        configuration=yaml.safe_dump(
            settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True
        ),
    )
