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

from fovnet.config.faults import show_value, suggest_key, wanted_instead
from fovnet.config.files import read_yaml
from fovnet.config.section import Section
from fovnet.errors import ConfigError
from fovnet.regions import DEFAULT, NONE, Region, Vocabulary, as_word


def vocabulary(name: str) -> Vocabulary:
    """The regions a configuration names: "default", or a YAML file with a list `regions` of name,
    rung, colour and codes.

    Raises ConfigError "regions-invalid" if an entry lacks name or rung or has an invalid value, a
    name occurs twice or is "none", or the rungs are not 0, 1, 2, ...
    """
    if name == "default":
        return DEFAULT
    hint = "give default, or a YAML file with a list 'regions' of name and rung"
    raw = read_yaml(Path(name), hint)
    entries = raw.get("regions")
    for key in [key for key in raw if key != "regions"]:
        raise ConfigError(
            "regions-invalid",
            f"{name}: {key}: unknown key; {suggest_key(str(key), ('regions',))} (only neighbouring "
            "rungs may touch; there are no other settings)",
        )
    if not isinstance(entries, list) or not entries:
        raise ConfigError(
            "regions-invalid",
            f"{name}: wanted a list 'regions' with an entry (name, rung, colour) each",
        )
    return Vocabulary(
        tuple(_add_colours(_check(name, [_region(name, entry) for entry in entries])))
    )


def _readable(text: str) -> str:
    """Text in Unicode NFC without surrounding blanks, as tables, pages and DICOM can hold it.
    Raises ValueError for other characters."""
    text = unicodedata.normalize("NFC", text).strip()
    if "\\" in text or not text.isprintable():
        raise ValueError("must not contain a tab, line break or backslash")
    return text


class RegionEntry(Section):
    """A region in a user's YAML file; `fovnet.regions.Region` describes the fields."""

    name: Annotated[
        str, Field(strict=True), AfterValidator(_readable), Field(pattern=r"\w", max_length=64)
    ]
    rung: Annotated[int, Field(strict=True)] | None
    colour: str = Field("", pattern="^(#[0-9a-fA-F]{6})?$")
    # YAML reads digits without quotes as a number
    sct: Annotated[str, BeforeValidator(str), Field(pattern=r"^(\d{6,16})?$")] = ""
    body_part: str = Field("", pattern="^[A-Z0-9 _]{0,16}$")
    synonyms: tuple[Annotated[str, BeforeValidator(lambda word: str(word).upper())], ...] = ()
    level: str = ""
    meaning: Annotated[str, AfterValidator(_readable)] = Field("", max_length=64)


ENTRY_WANTED = {
    "name": (
        "give up to 64 characters, with at least one letter or digit and no tab, line break or "
        "backslash"
    ),
    "colour": "give '#' and six hexadecimal digits, in quotes",
    "sct": "give a SNOMED CT concept of 6 to 16 digits",
    "body_part": "give a DICOM code string: up to 16 capitals, digits, blanks and _",
    "meaning": "give up to 64 characters without a backslash, as in DICOM",
}


def _region(source: str, entry: Any) -> Region:
    if not isinstance(entry, dict) or not {"name", "rung"} <= entry.keys():
        raise ConfigError(
            "regions-invalid",
            f"{source}: {show_value(entry)}: each entry needs name and rung (null beside the "
            "chain)",
        )
    keys = tuple(RegionEntry.model_fields)
    for key in [key for key in entry if key not in keys]:
        raise ConfigError(
            "regions-invalid",
            f"{source}: {entry['name']}.{key}: unknown key; {suggest_key(str(key), keys)}",
        )
    try:
        return Region(**RegionEntry(**entry).model_dump())
    except ValidationError as faults:
        fault = faults.errors()[0]
        hint = ENTRY_WANTED.get(str(fault["loc"][0]), wanted_instead(fault))
        raise ConfigError(
            "regions-invalid",
            f"{source}: {entry['name']}.{fault['loc'][0]}: {show_value(fault['input'])}: {hint}",
        ) from None


PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
"""Okabe & Ito's colours (2008), for regions without a colour; then hues in golden-ratio steps, dark
and light in turn."""


def _add_colours(regions: Sequence[Region]) -> list[Region]:
    """The regions; those without a colour are given one that no other has."""
    used_colours = {region.colour.lower() for region in regions}
    hues = (
        colorsys.hls_to_rgb(0.618034 * step % 1, 0.35 + 0.25 * (step % 2), 0.65) for step in count()
    )
    generated = ("#" + "".join(f"{round(255 * part):02x}" for part in hue) for hue in hues)
    free_colours = (colour for colour in chain(PALETTE, generated) if colour not in used_colours)
    return [
        region if region.colour else replace(region, colour=next(free_colours))
        for region in regions
    ]


def _check(source: str, regions: list[Region]) -> list[Region]:
    names = [region.name for region in regions]
    rungs = sorted(region.rung for region in regions if region.rung is not None)
    if len(set(names)) < len(names) or as_word(NONE) in map(as_word, names):
        raise ConfigError(
            "regions-invalid", f"{source}: the names {names} must differ, and none may be '{NONE}'"
        )
    for region, other in combinations(regions, 2):
        if shared := sorted(region.words & other.words):
            raise ConfigError(
                "regions-invalid",
                f"{source}: {shared[0]!r} means {region.name!r} and {other.name!r} (name, "
                "body_part or synonyms; case and _ are ignored); keep it in one of them",
            )
    if rungs != list(range(len(rungs))) or not rungs:
        raise ConfigError(
            "regions-invalid",
            f"{source}: the rungs are {rungs}; wanted 0, 1, 2, ... from feet to head",
        )
    return regions
