"""Settings read from a mapping or a YAML file, all faults at once, and written with their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError

from fovnet.config.faults import PathFaults, describe_wanted, key_path, show_value, suggest_key
from fovnet.config.models import Settings
from fovnet.config.reading import read_yaml
from fovnet.config.search import FORMS
from fovnet.config.section import Section
from fovnet.errors import ConfigError
from fovnet.records import write_text

AnySection = TypeVar("AnySection", bound=Section)


def parse(raw: Mapping[str, Any], source: str) -> Settings:
    """The settings in a mapping; `source` names it in errors.

    Raises ConfigError "config-invalid", a sentence for every fault: unknown keys with the nearest
    known one, values with what is wanted.
    """
    return parse_as(Settings, raw, source)


def parse_as(
    kind: type[AnySection],
    raw: Mapping[str, Any],
    source: str,
    overrides: Mapping[str, Any] | None = None,
) -> AnySection:
    """The settings in a mapping, as those of a kind of file.

    source     names the mapping in errors
    overrides  those of `raw` that Snakemake's `--config` gave; faults in them name `--config`
    Raises ConfigError "config-invalid", as `parse`.
    """
    try:
        return kind.model_validate(dict(raw))
    except ValidationError as error:
        faults_by_file: dict[str, list[str]] = {}
        for fault in error.errors():
            value_keys = tuple(step for step in fault["loc"] if step not in FORMS)
            faulty_file = name_source(value_keys, raw, source, overrides or {})
            faults_by_file.setdefault(faulty_file, []).append(
                _fault_in_words({**fault, "loc": value_keys}, kind)
            )
        fault_blocks = [
            "\n  ".join([f"{faulty_file}: not a valid configuration:", *sentences])
            for faulty_file, sentences in faults_by_file.items()
        ]
        raise ConfigError("config-invalid", "\n".join(fault_blocks)) from None


def parse_merged(
    kind: type[AnySection],
    merged: Mapping[str, Any],
    files: Sequence[Path],
    overrides: Mapping[str, Any],
) -> AnySection:
    """The settings that Snakemake merged from files and, last, from its option `--config`.

    Snakemake itself takes the last of two equal keys, and 1:36 for 96: YAML files are read once
    more, for what would be refused in them.  Raises ConfigError as `parse` and `read_yaml`.
    """
    for path in files:
        if path.suffix != ".json":
            read_yaml(path)
    return parse_as(kind, merged, ", ".join(map(str, files)) or "--config", overrides)


def name_source(
    keys: Sequence[str | int], merged: Mapping[str, Any], source: str, overrides: Mapping[str, Any]
) -> str:
    """Who gave the value that these keys lead to: `--config`, the `source` of all others, or parts
    of it each."""
    if not overrides or source == "--config":
        return source
    override_value: Any = overrides
    merged_value: Any = merged
    for key in keys:
        if not isinstance(override_value, Mapping):
            return "--config"
        if key not in override_value:
            return source
        override_value = override_value[key]
        merged_value = merged_value[key]
    if override_value == merged_value:
        return "--config"
    return f"{source} and --config"


def load_settings(path: Path) -> Settings:
    """The settings in a YAML file.  Raises ConfigError if it is missing, not YAML, or not valid."""
    return parse(read_yaml(path), str(path))


def refuse_file(settings: Settings, source: str) -> None:
    """Raises ConfigError "results-file" if the results folder, or one above it, is a file; `source`
    names the settings."""
    results_folder = Path(settings.results)
    file_in_the_way = next(
        (path for path in (results_folder, *results_folder.parents) if path.is_file()), None
    )
    if file_in_the_way is not None:
        raise ConfigError(
            "results-file",
            f"{source}: results: {settings.results}: {file_in_the_way} is a file; name a folder",
        )


def write_settings(path: Path, settings: Settings) -> Path:
    """`path`, holding the whole configuration as YAML with defaults filled in; a file that already
    holds it is not rewritten."""
    text = yaml.safe_dump(settings.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    return path


def _fault_in_words(fault: Any, kind: type[Section]) -> str:
    """One pydantic fault as "search.trails: unknown key; did you mean 'trials'?"."""
    dotted_path = key_path(fault)
    if fault["type"] == "extra_forbidden":
        section: Any = kind
        for key in fault["loc"][:-1]:
            # else a name of the user's, of which each has a section
            if key in section.model_fields:
                section = _section_of_annotation(section.model_fields[key].annotation)
        return (
            f"{dotted_path}: unknown key; {suggest_key(str(fault['loc'][-1]), section.key_names())}"
        )
    if fault["type"] == "value_error":
        if isinstance(fault["ctx"]["error"], PathFaults):
            return fault["ctx"]["error"].in_words(dotted_path)
        return ": ".join(filter(None, (dotted_path, str(fault["ctx"]["error"]))))
    return f"{dotted_path}: {show_value(fault['input'])}: {describe_wanted(fault)}"


def _section_of_annotation(annotation: Any) -> Any:
    """The Section among the types of an annotation such as `Speed | Literal["measure"]`; the
    annotation itself if there is none."""
    member_types = (
        (get_args(member_type) or (member_type,))[0] for member_type in get_args(annotation)
    )
    return next(
        (
            member_type
            for member_type in member_types
            if isinstance(member_type, type) and issubclass(member_type, Section)
        ),
        annotation,
    )
