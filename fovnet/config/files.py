"""Settings read from a mapping or a YAML file, all faults at once, and written with their defaults.

In a YAML file a key given twice, and aliases that stand for more than they should, are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError

from fovnet.config.faults import nearest, place, shown, wanted
from fovnet.config.models import Settings
from fovnet.config.search import FORMS
from fovnet.config.section import Section
from fovnet.errors import ConfigError
from fovnet.records import write_text

Whole = TypeVar("Whole", bound=Section)

# characters that the aliases of a YAML file may stand for; a whole configuration has 4,000
MOST_BY_ALIASES = 100_000


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


def read_yaml(
    path: Path, like: str = "configs/demo.yaml of the repository is an example to start from"
) -> dict[str, Any]:
    """The mapping in a YAML file; `like` is the hint in messages.

    Raises ConfigError: "config-missing", "config-unreadable", or "config-doubled" for a key given twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
        doubled = doubled_keys(text)
        _refuse_expansion(path, text)
        raw = yaml.safe_load(text)
    except FileNotFoundError:
        raise ConfigError("config-missing", f"{path}: no such file; {like}") from None
    except UnicodeDecodeError:
        raise ConfigError("config-unreadable", f"{path}: is not text; give a YAML file; {like}") from None
    except OSError as error:
        raise ConfigError(
            "config-unreadable", f"{path}: {error.strerror or error}; give a YAML file; {like}"
        ) from None
    except (ValueError, RecursionError) as error:
        # a date such as 2024-02-31, a number of thousands of digits, endless nesting
        message = " ".join(str(error).split())
        raise ConfigError(
            "config-unreadable",
            f"{path}: has a value that is not valid YAML ({message}); put text in quotes",
        ) from None
    except yaml.YAMLError as error:
        message = " ".join(str(error).split()).replace('in "<unicode string>", ', "")
        raise ConfigError("config-unreadable", f"{path}: not readable as YAML: {message}") from None
    if doubled:
        raise ConfigError("config-doubled", f"{path}: duplicate keys; remove one of each:\n"
                                            + "\n".join(f"  {fault}" for fault in doubled))
    if not isinstance(raw, dict):
        held = "is empty" if raw is None else f"holds a {type(raw).__name__}"
        raise ConfigError("config-unreadable", f"{path}: {held}; it must have 'key: value' lines; {like}")
    return raw


def _refuse_expansion(path: Path, text: str) -> None:
    """Raises ConfigError "config-unreadable" if aliases make more of a file than MOST_BY_ALIASES characters:
    a kilobyte of aliases of lists of aliases can stand for terabytes."""
    sizes: dict[int, float] = {}

    def size(node: yaml.Node | None) -> float:
        if node is None or isinstance(node, yaml.ScalarNode):
            return 0.0 if node is None else len(node.value) + 1
        if id(node) not in sizes:
            # while its entries are counted: an alias of itself has no end
            sizes[id(node)] = math.inf
            entries = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
            sizes[id(node)] = 1 + sum(map(size, entries))
        return sizes[id(node)]

    made = size(yaml.compose(text, Loader=yaml.SafeLoader))
    if made > len(text) + MOST_BY_ALIASES:
        raise ConfigError(
            "config-unreadable",
            f"{path}: its aliases (*name) expand to {made:,.0f} characters (limit {MOST_BY_ALIASES:,}); "
            "write the values out",
        )


def doubled_keys(text: str) -> list[str]:
    """ "line 7: search.trials stands in line 3 already" for every key given twice in one mapping, of which
    YAML alone keeps the last."""
    found: list[str] = []
    seen: set[int] = set()                      # an alias refers to the same node, and may form a cycle

    def walk(node: yaml.Node | None, where: tuple[str, ...]) -> None:
        if node is None or id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for number, entry in enumerate(node.value):
                walk(entry, (*where, str(number)))
        if isinstance(node, yaml.MappingNode):
            first: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                line, path = key.start_mark.line + 1, (*where, str(key.value))
                identity = (key.tag, str(key.value))
                if isinstance(key, yaml.ScalarNode) and identity in first:
                    found.append(f"line {line}: {'.'.join(path)} is in line {first[identity]} already")
                first.setdefault(identity, line)
                walk(value, path)

    walk(yaml.compose(text, Loader=yaml.SafeLoader), ())
    return found
