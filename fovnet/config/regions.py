"""The regions that a user's YAML file names, checked, each with a colour of its own."""

from __future__ import annotations

import colorsys
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations, count
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from fovnet.config.faults import describe_wanted, show_value, suggest_key
from fovnet.config.reading import read_yaml
from fovnet.config.section import Section
from fovnet.errors import ConfigError
from fovnet.regions import BUILT_IN, NONE, Region, Vocabulary, as_word
from fovnet.words import join_names


def vocabulary(name: str) -> Vocabulary:
    """The regions a configuration names: "default", "nine", or a YAML file with a list `regions` of
    name, rung, colour and codes.

    Raises ConfigError "regions-invalid" if an entry lacks name or rung or has an invalid value, a
    name occurs twice or is "none", or the rungs are not 0, 1, 2, ...
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    hint = (
        f"give {join_names(BUILT_IN, 'or')}, or a YAML file with a list 'regions' of name and rung"
    )
    file_content = read_yaml(Path(name), hint)
    region_entries = file_content.get("regions")
    unknown_keys = [key for key in file_content if key != "regions"]
    if unknown_keys:
        hint = suggest_key(str(unknown_keys[0]), ("regions",))
        raise ConfigError(
            "regions-invalid",
            f"{name}: {unknown_keys[0]}: unknown key; {hint} (only neighbouring "
            "rungs may touch; there are no other settings)",
        )
    if not isinstance(region_entries, list) or not region_entries:
        raise ConfigError(
            "regions-invalid",
            f"{name}: wanted a list 'regions' with an entry (name, rung, colour) each",
        )
    regions = [_read_region(name, entry) for entry in region_entries]
    _refuse_contradictions(name, regions)
    return Vocabulary(tuple(_add_colours(regions)))


def _normalise_text(text: str) -> str:
    """Text in Unicode NFC without surrounding blanks, as tables, pages and DICOM can hold it.
    Raises ValueError for other characters."""
    text = unicodedata.normalize("NFC", text).strip()
    if "\\" in text or not text.isprintable():
        raise ValueError("must not contain a tab, line break or backslash")
    return text


class RegionEntry(Section):
    """A region in a user's YAML file; `fovnet.regions.Region` describes the fields."""

    name: Annotated[
        str,
        Field(strict=True),
        AfterValidator(_normalise_text),
        Field(pattern=r"\w", max_length=64),
    ]
    rung: Annotated[int, Field(strict=True)] | None
    colour: str = Field("", pattern="^(#[0-9a-fA-F]{6})?$")
    # YAML reads digits without quotes as a number
    sct: Annotated[str, BeforeValidator(str), Field(pattern=r"^(\d{6,16})?$")] = ""
    body_part: str = Field("", pattern="^[A-Z0-9 _]{0,16}$")
    synonyms: tuple[Annotated[str, BeforeValidator(lambda word: str(word).upper())], ...] = ()
    level: str = ""
    meaning: Annotated[str, AfterValidator(_normalise_text)] = Field("", max_length=64)


WANTED_BY_FIELD = {
    "name": (
        "give up to 64 characters, with at least one letter or digit and no tab, line break or "
        "backslash"
    ),
    "colour": "give '#' and six hexadecimal digits, in quotes",
    "sct": "give a SNOMED CT concept of 6 to 16 digits",
    "body_part": "give a DICOM code string: up to 16 capitals, digits, blanks and _",
    "meaning": "give up to 64 characters without a backslash, as in DICOM",
}


def _read_region(source: str, region_entry: Any) -> Region:
    """The region of an entry.  Raises ConfigError "regions-invalid" for a missing, unknown or
    invalid value."""
    if not isinstance(region_entry, dict) or not {"name", "rung"} <= region_entry.keys():
        raise ConfigError(
            "regions-invalid",
            f"{source}: {show_value(region_entry)}: each entry needs name and rung (null beside the "
            "chain)",
        )
    field_names = tuple(RegionEntry.model_fields)
    unknown_keys = [key for key in region_entry if key not in field_names]
    if unknown_keys:
        hint = suggest_key(str(unknown_keys[0]), field_names)
        raise ConfigError(
            "regions-invalid",
            f"{source}: {region_entry['name']}.{unknown_keys[0]}: unknown key; {hint}",
        )
    try:
        return Region(**RegionEntry(**region_entry).model_dump())
    except ValidationError as error:
        first_fault = error.errors()[0]
        field_name = str(first_fault["loc"][0])
        wanted_text = WANTED_BY_FIELD.get(field_name, describe_wanted(first_fault))
        raise ConfigError(
            "regions-invalid",
            f"{source}: {region_entry['name']}.{field_name}: {show_value(first_fault['input'])}: {wanted_text}",
        ) from None


PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
"""Okabe & Ito's colours (2008), for regions without a colour; then hues in golden-ratio steps, dark
and light in turn."""
GOLDEN_RATIO_STEP = 0.618034  # of the circle of hues
DARK_AND_LIGHT = (0.35, 0.6)  # lightness
GENERATED_SATURATION = 0.65


def _add_colours(regions: Sequence[Region]) -> list[Region]:
    """The regions; those without a colour are given one that no other has."""
    used_colours = {region.colour.lower() for region in regions}
    all_colours = chain(PALETTE, map(_generate_colour, count()))
    free_colours = (colour for colour in all_colours if colour not in used_colours)
    coloured_regions = []
    for region in regions:
        if not region.colour:
            region = replace(region, colour=next(free_colours))
        coloured_regions.append(region)
    return coloured_regions


def _generate_colour(number: int) -> str:
    """The nth generated colour, "#rrggbb"."""
    hue = GOLDEN_RATIO_STEP * number % 1
    lightness = DARK_AND_LIGHT[number % 2]
    rgb = colorsys.hls_to_rgb(hue, lightness, GENERATED_SATURATION)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in rgb)


def _refuse_contradictions(source: str, regions: Sequence[Region]) -> None:
    """Raises ConfigError "regions-invalid" for a name or word that two regions share, or rungs other
    than 0, 1, 2, ..."""
    region_names = [region.name for region in regions]
    sorted_rungs = sorted(region.rung for region in regions if region.rung is not None)
    if len(set(region_names)) < len(region_names) or as_word(NONE) in map(as_word, region_names):
        raise ConfigError(
            "regions-invalid",
            f"{source}: the names {region_names} must differ, and none may be '{NONE}'",
        )
    for region, other_region in combinations(regions, 2):
        if shared_words := sorted(region.words & other_region.words):
            raise ConfigError(
                "regions-invalid",
                f"{source}: {shared_words[0]!r} means {region.name!r} and {other_region.name!r} (name, "
                "body_part or synonyms; case and _ are ignored); keep it in one of them",
            )
    if sorted_rungs != list(range(len(sorted_rungs))) or not sorted_rungs:
        raise ConfigError(
            "regions-invalid",
            f"{source}: the rungs are {sorted_rungs}; wanted 0, 1, 2, ... from feet to head",
        )
