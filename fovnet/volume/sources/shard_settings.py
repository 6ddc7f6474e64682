"""What all shards of an archive share: settings that change answers, pictures or tables, and so
belong to the whole and not to one step.

The survey keeps what it was told, and later steps inherit it.  On what it was not told, the shards
must agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

SHIPPED_MODEL = "shipped"
SETTINGS_IN_ROWS = ("pictures", "pages", "faces")
"""Settings that a shard's rows record beside the identity of its networks; the others make the
list."""


@dataclass(frozen=True)
class ShardSettings:
    """The settings of the whole; None: not told.

    model     the folder of the networks, absolute, or "shipped"
    include   kinds of DICOM series that are read although they are set aside
    show_ids  whether found.tsv has real ids
    pictures  whether every volume gets a picture
    pages     whether every volume gets a page, and all an index
    faces     whether slices that may show a head are drawn
    """

    model: str | None = None
    include: tuple[str, ...] | None = None
    show_ids: bool | None = None
    pictures: bool | None = None
    pages: bool | None = None
    faces: bool | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> ShardSettings:
        """From `facts` as a survey keeps them.  Raises KeyError where one is missing."""
        values = {name: facts[name] for name in SETTING_NAMES}
        if values["include"] is not None:
            values["include"] = tuple(values["include"])
        return cls(**values)

    @property
    def facts(self) -> dict[str, Any]:
        """Every setting by its name."""
        return {name: getattr(self, name) for name in SETTING_NAMES}

    def updated(self, changes: ShardSettings) -> ShardSettings:
        """These, but for those that `changes` has."""
        values = {name: value for name, value in changes.facts.items() if value is not None}
        return replace(self, **values)

    def contradictions(self, settings: ShardSettings) -> Iterator[tuple[str, Any, Any]]:
        """(name, value here, value in `settings`) of each setting that both have and that differs; a model
        is the same folder by whatever link."""
        for setting_name, own_value in self.facts.items():
            other_value = getattr(settings, setting_name)
            if own_value is None or other_value is None or own_value == other_value:
                continue
            if setting_name == "model" and os.path.realpath(own_value) == os.path.realpath(
                other_value
            ):
                continue
            yield setting_name, own_value, other_value


SETTING_NAMES = tuple(setting.name for setting in fields(ShardSettings))
DEFAULT_SETTINGS = ShardSettings(
    SHIPPED_MODEL, (), show_ids=False, pictures=True, pages=True, faces=True
)
"""What holds where nobody was told anything."""


def as_option(name: str, value: Any) -> str:
    """A setting as an option of the command line: --no-faces, --model DIR."""
    dashed_name = name.replace("_", "-")
    if isinstance(value, bool):
        if value:
            return f"--{dashed_name}"
        return f"--no-{dashed_name}"
    value_text = str(value)
    if isinstance(value, tuple):
        value_text = ",".join(value)
    return f"--{dashed_name} {value_text or repr('')}"
