"""What all parts of a configuration have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from fovnet.config.numbers import read_numbers, scalar_kinds


class Section(BaseModel):
    """A part of the configuration: frozen; unknown keys, infinities and NaN are refused, and true
    for 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _numbers_as_written(cls, value: Any, field: ValidationInfo) -> Any:
        return read_numbers(value, scalar_kinds(cls.model_fields[str(field.field_name)].annotation))

    @classmethod
    def key_names(cls) -> tuple[str, ...]:
        """The keys of this section, as they are written in a file."""
        return tuple(field.alias or name for name, field in cls.model_fields.items())
