"""A BIDS data set: the anatomical MR images of every subject and session.

    sub-<label>/[ses-<label>/]anat/sub-<label>[_ses-<label>][_<key>-<value>...]_<suffix>.nii[.gz]

with the fields of their sidecars: the .json of the same name, and by the inheritance principle
every .json of the same suffix in a folder above whose entities are all among the image's; nearer
ones take precedence.  Only site, sex and scanner are read from participants.tsv. Source: BIDS 1.10,
"Common principles" and "Anatomy imaging data".
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fovnet.errors import VolumeError
from fovnet.records import read_tsv
from fovnet.volume.adapters.gathering import BROKEN_KIND, AsideRow, Gathering
from fovnet.volume.collection.table_rows import VolumeRow
from fovnet.volume.sources.grids import read_nifti_grid
from fovnet.volume.unpacking import regular_path

# fmt: off
ANATOMICAL_SUFFIXES = (
    "T1w", "T2w", "PDw", "T2starw", "FLAIR", "inplaneT1", "inplaneT2", "PDT2", "angio",
    "MP2RAGE", "MEGRE", "MESE", "VFA", "IRT1", "MTS", "MTR", "MPM", "UNIT1", "FLASH", "PD",
    "T2star",
)
# fmt: on
PARTICIPANT_COLUMNS = ("site", "sex", "scanner")
ATTRIBUTE_BY_FIELD = {
    "Manufacturer": "manufacturer",
    "MagneticFieldStrength": "field_strength",
    "InstitutionName": "site",
}
FOLDERS_NOT_RAW = ("derivatives", "sourcedata", "code")
PHRASE_BY_PART = {
    "part-phase": "a phase image",
    "part-real": "the real part of a complex image",
    "part-imag": "the imaginary part",
}


def gather_bids(tree: Path) -> Gathering:
    """Every anatomical MR image, unlabelled; subject_id is the participant's label with its sub-,
    as in participants.tsv."""
    gathering = Gathering()
    table = tree / "participants.tsv"
    unreadable_sidecars: dict[Path, AsideRow] = {}
    try:
        attributes_by_participant = _read_participants(table)
    except (OSError, ValueError) as fault:
        attributes_by_participant = {}
        gathering.set_aside(
            table,
            f"{table}: not a readable UTF-8 table ({fault}); volumes are taken without site and sex",
            BROKEN_KIND,
        )
    for name in FOLDERS_NOT_RAW:
        if (tree / name).is_dir():
            gathering.set_aside(
                tree / name,
                "not raw data of this data set; name a data set inside it to collect that",
            )
    for subject in sorted(path for path in tree.glob("sub-*") if path.is_dir()):
        if attributes_by_participant and subject.name not in attributes_by_participant:
            gathering.set_aside(
                subject,
                "its participant is not in participants.tsv; its volumes are taken without site and sex",
            )
        for session in (subject, *sorted(path for path in subject.glob("ses-*") if path.is_dir())):
            for folder in sorted(
                path
                for path in session.iterdir()
                if path.is_dir() and not path.name.startswith("ses-")
            ):
                if folder.name == "anat":
                    _add_folder(
                        gathering,
                        tree,
                        folder,
                        attributes_by_participant.get(subject.name, {}),
                        unreadable_sidecars,
                    )
                else:
                    gathering.set_aside(
                        folder, f"{folder.name}: only anatomical images (anat) are taken"
                    )
    gathering.aside_rows += unreadable_sidecars.values()
    return gathering


def _add_folder(
    gathering: Gathering,
    tree: Path,
    anat_folder: Path,
    participant_attributes: dict[str, str],
    unreadable_sidecars: dict[Path, AsideRow],
) -> None:
    """Adds the images of a folder, and to `unreadable_sidecars` their sidecars that cannot be read: one may
    be that of every image of a data set."""
    for path in sorted(
        path for path in anat_folder.iterdir() if path.name.endswith((".nii", ".nii.gz"))
    ):
        stem = path.name.removesuffix(".gz").removesuffix(".nii")
        *entities, suffix = stem.split("_")
        subject = ""
        if entities:
            subject = entities[0]
        if suffix not in ANATOMICAL_SUFFIXES:
            reason = f"{suffix}: a map or a mask, or a kind that BIDS does not list among MR images"
        elif not anat_folder.is_relative_to(tree / subject):
            reason = f"its name says {subject or 'no subject'}, but it is in {anat_folder.relative_to(tree).parts[0]}"
        else:
            reason = next((PHRASE_BY_PART[part] for part in PHRASE_BY_PART if part in entities), "")
        if reason:
            gathering.set_aside(path, reason)
            continue
        try:
            plane = read_nifti_grid(path).plane
        except VolumeError as fault:
            gathering.set_broken_aside(path, fault)
            continue
        scanner_attributes, aside_rows = _read_sidecars(tree, path, entities, suffix)
        unreadable_sidecars |= {row.path: row for row in aside_rows}
        attributes = {
            **scanner_attributes,
            **participant_attributes,
            "sequence": suffix,
            "plane": plane,
        }
        gathering.add_volume(VolumeRow(stem, subject, path, attributes=attributes))


def _read_sidecars(
    tree: Path, path: Path, entities: list[str], suffix: str
) -> tuple[dict[str, str], list[AsideRow]]:
    """(attributes of an image by column, rows of aside.tsv on sidecars that cannot be read), from the
    sidecars of this suffix in the folders from `tree` down to the image, whose entities are all
    among `entities`."""
    sidecar_fields: dict[str, Any] = {}
    aside_rows = []
    folders_downwards = [folder for folder in reversed(path.parents) if folder.is_relative_to(tree)]
    for folder in folders_downwards:
        applicable_sidecars = []
        for sidecar in folder.glob(f"*{suffix}.json"):
            *sidecar_entities, sidecar_suffix = sidecar.stem.split("_")
            if sidecar_suffix == suffix and set(sidecar_entities) <= set(entities):
                applicable_sidecars.append((len(sidecar_entities), sidecar))
        for _, sidecar in sorted(applicable_sidecars):
            try:
                json_fields = json.loads(regular_path(sidecar).read_text(encoding="utf-8-sig"))
                if isinstance(json_fields, dict):
                    sidecar_fields |= json_fields
            except (OSError, ValueError, RecursionError, VolumeError) as fault:
                reason = f"{sidecar}: not a readable JSON ({fault}); images are taken without it"
                aside_rows.append(
                    AsideRow(path=sidecar, kind=BROKEN_KIND, reason=reason, code="sidecar")
                )
    attributes = {
        attribute: _attribute_text(sidecar_fields[field_name])
        for field_name, attribute in ATTRIBUTE_BY_FIELD.items()
        if sidecar_fields.get(field_name) not in (None, "")
    }
    return attributes, aside_rows


def _attribute_text(value: Any) -> str:
    """A value of a sidecar as it is written to the table, on one line."""
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(str(value).split())


def _read_participants(table: Path) -> dict[str, dict[str, str]]:
    """The columns taken from participants.tsv, by participant_id; empty without that file."""
    if not table.is_file():
        return {}
    attributes_by_participant = {}
    for row in read_tsv(table):
        participant = row.get("participant_id", "")
        if not participant.startswith("sub-"):
            participant = f"sub-{participant}"
        attributes_by_participant[participant] = {
            column: row[column]
            for column in PARTICIPANT_COLUMNS
            if row.get(column) not in (None, "", "n/a")
        }
    return attributes_by_participant
