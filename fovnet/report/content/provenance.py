"""The chapter on provenance: versions, hashes and the complete configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from fovnet.config.models import Settings
from fovnet.report.content.cells import Table


@dataclass(frozen=True)
class Provenance:
    """Versions of the software and the seed; SHA-256 by what was hashed; the settings as YAML."""

    versions: Table
    hashes: Table
    configuration: str


def provenance_of(
    settings: Settings, versions: Mapping[str, str], hashes: Mapping[str, str]
) -> Provenance:
    """The chapter."""
    return Provenance(
        versions=Table(
            ("what", "value"), (*versions.items(), ("seed", str(settings.seed))), name="versions"
        ),
        hashes=Table(("what", "SHA-256"), list(hashes.items()), name="hashes"),
        configuration=yaml.safe_dump(
            settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True
        ),
    )
