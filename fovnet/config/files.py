"""Settings read from a mapping or a YAML file, all faults at once, and written with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError

from fovnet.config.faults import nearest, place, shown, wanted
from fovnet.config.models import Settings
from fovnet.config.search import FORMS
from fovnet.config.section import Section
from fovnet.config.yaml_files import read_yaml
from fovnet.errors import ConfigError
from fovnet.records import write_text

Whole = TypeVar("Whole", bound=Section)


def parse(raw: Mapping[str, Any], source: str) -> Settings:
    """The settings in a mapping; `source` names it in errors.

    Raises ConfigError "config-invalid", a sentence for every fault: unknown keys with the nearest known one,
    values with what is wanted.
    """
    return parse_as(Settings, raw, source)


def parse_as(kind: type[Whole], raw: Mapping[str, Any], source: str) -> Whole:
    """As `parse`, the settings of another kind of file."""
    try:
        return kind.model_validate(dict(raw))
    except ValidationError as error:
        faults = "\n".join(f"  {_fault(fault, kind)}" for fault in error.errors())
        raise ConfigError("config-invalid", f"{source}: not a valid configuration:\n{faults}") from None


def load(path: Path) -> Settings:
    """The settings in a YAML file.  Raises ConfigError if it is missing, not YAML, or not valid."""
    return parse(read_yaml(path), str(path))


def refuse_file(settings: Settings, source: str) -> None:
    """Raises ConfigError "results-file" if the results folder, or one above it, is a file; `source` names the
    settings."""
    file = next(
        (place for place in (Path(settings.results), *Path(settings.results).parents) if place.is_file()),
        None,
    )
    if file is not None:
        raise ConfigError(
            "results-file", f"{source}: results: {settings.results}: {file} is a file; name a folder"
        )


def write_settings(path: Path, settings: Settings) -> Path:
    """`path`, holding the whole configuration as YAML with defaults filled in; a file that already holds it
    is not rewritten."""
    text = yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    return path


def _fault(fault: Any, kind: type[Section]) -> str:
    """One pydantic fault as "search.trails: unknown key; did you mean 'trials'?"."""
    fault = {**fault, "loc": tuple(step for step in fault["loc"] if step not in FORMS)}
    where = place(fault)
    if fault["type"] == "extra_forbidden":
        section: Any = kind
        for step in fault["loc"][:-1]:
            # else a name of the user's, of which each has a section
            if step in section.model_fields:
                section = _section(section.model_fields[step].annotation)
        return f"{where}: unknown key; {nearest(str(fault['loc'][-1]), tuple(section.model_fields))}"
    if fault["type"] == "value_error":
        return f"{where}: {fault['ctx']['error']}" if where else str(fault["ctx"]["error"])
    return f"{where}: {shown(fault['input'])}: {wanted(fault)}"


def _section(annotation: Any) -> Any:
    """The Section among the types of an annotation such as `Speed | Literal["measure"]`; the annotation
    itself if there is none."""
    choices = ((get_args(choice) or (choice,))[0] for choice in get_args(annotation))
    return next(
        (choice for choice in choices if isinstance(choice, type) and issubclass(choice, Section)), annotation
    )
