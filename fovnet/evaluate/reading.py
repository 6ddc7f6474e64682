"""Cases from disk: the decisions on a split's volumes, with the truth of the packed slices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.evaluate.cases import Case, case_of_refusal
from fovnet.evaluate.stored_answers import borders_in, part_answers_in, spans_in, statement_in
from fovnet.maths.smoothing import temper
from fovnet.records import read_json
from fovnet.volume.collection.pack import Pack, VolumeRecord
from fovnet.volume.sources.grids import VolumeGrid

TEST_SPLIT = "test"


def read_cases(pack: Pack, decisions: Path, temperature: float | None = None) -> list[Case]:
    """One case per labelled volume of the test split, refused ones included, and one per labelled,
    refused volume without a split: no volume of its subject could be read.

    temperature  of the rule that decided, by which raw probabilities are calibrated; None leaves
                 these out
    Raises CollectionError where a volume has no decision, or one of other slices.
    """
    cases: list[Case] = []
    refused_cases: list[Case] = []
    for record_index, record in enumerate(pack.records):
        if record.split == TEST_SPLIT and record.status == "ok":
            rows_of_volume = slice(record.first_row, record.first_row + record.slice_count)
            decision = _read_decision(
                record, pack.z_mm[rows_of_volume], decisions / f"{record.volume_id}.json"
            )
            cases.append(case_of_record(pack, record_index, decision, temperature))
        elif record.is_labelled and record.status != "ok" and record.split in (TEST_SPLIT, ""):
            refused_cases.append(_case_of_refused_record(pack, record, record.message_in_reports))
    return cases + refused_cases


def case_of_record(
    pack: Pack, index: int, decision: Mapping[str, Any], temperature: float | None = None
) -> Case:
    """The case of the volume `pack.records[index]`, of which `decision` is the answer as its JSON
    has it; temperature as in `read_cases`."""
    record = pack.records[index]
    rows_of_volume = slice(record.first_row, record.first_row + record.slice_count)
    if decision.get("status") == "refused":
        return _case_of_refused_record(pack, record, decision["message"])
    case_fields = read_case_fields(decision)
    part_truth = None
    if pack.part_truth is not None:
        part_truth = pack.part_truth[rows_of_volume]
    calibrated_probabilities = None
    if temperature is not None:
        calibrated_probabilities = temper(case_fields["raw_probabilities"], temperature)
    return Case(
        volume_id=record.name_in_reports,
        subject_id=record.subject,
        collection=record.collection,
        attributes=attributes_of(record),
        z_mm=pack.z_mm[rows_of_volume],
        edges_mm=pack.stack_of_volume(index).edges_mm,
        truth=pack.truth[rows_of_volume],
        pixels=pack.pixels[rows_of_volume],
        calibrated_probabilities=calibrated_probabilities,
        part_truth=part_truth,
        **case_fields,
    )


def _read_decision(
    record: VolumeRecord, z_mm: NDArray[np.float64], decision_file: Path
) -> dict[str, Any]:
    """The decision in a volume's JSON.  Raises CollectionError "decision-missing", and
    "decision-stale" if it is on another file, or on other slices, than the pack has."""
    try:
        decision = read_json(decision_file)
    except (OSError, ValueError):
        raise CollectionError(
            "decision-missing",
            f"{decision_file}: not a readable decision on this test volume; run `fovnet decide` "
            "again",
        ) from None
    if decision.get("status") == "refused":
        return decision
    if len(decision["z_mm"]) != len(z_mm):
        raise CollectionError(
            "decision-stale",
            f"{decision_file}: {len(decision['z_mm'])} slices, but the pack has {len(z_mm)}; run "
            "`fovnet decide` again",
        )
    is_same_file = decision.get("checksum", record.checksum) == record.checksum
    if not is_same_file or not np.allclose(decision["z_mm"], z_mm, atol=1e-3):
        raise CollectionError(
            "decision-stale",
            f"{decision_file}: decided on another file than the pack has, or on other slices of "
            "it; run `fovnet decide` again",
        )
    return decision


def attributes_of(record: VolumeRecord) -> dict[str, str]:
    """The columns of volumes.tsv, and from the volume's affine its slice spacing, and its plane
    where no column gives it."""
    attributes = dict(record.attributes)
    if record.vox_to_ras is None:
        return attributes
    grid = VolumeGrid((1, 1, 1), np.asarray(record.vox_to_ras))
    if not attributes.get("plane", "").strip():
        attributes["plane"] = grid.plane or "isotropic"
    return {"slice_spacing_mm": f"{grid.spacing_mm.max():.3g}", **attributes}


def read_case_fields(decision: Mapping[str, Any]) -> dict[str, Any]:
    """What a volume's JSON says, as the fields of a Case; those from the borders on are not in one
    of an older version."""
    return {
        "status": decision["status"],
        "message": decision["message"],
        "raw_probabilities": np.array(decision["raw"], dtype=float),
        "smoothed_probabilities": np.array(decision["smoothed"], dtype=float),
        "decided_labels": np.array(decision["decided"], dtype=bool),
        "slice_confidence": np.array(decision["slice_confidence"], dtype=float),
        "spans": spans_in(decision["spans"]),
        "side_mm": float(decision["side_mm"]),
        "decided_borders": borders_in(decision.get("boundaries")),
        "set_probability": decision.get("set_probability"),
        "doubt_codes": tuple(
            doubt["code"] for doubt in decision.get("doubts") or () if doubt.get("code")
        ),
        "is_dark": (
            np.isin(np.arange(len(decision["z_mm"])), decision["empty"])
            if "empty" in decision
            else None
        ),
        "volume_confidence": decision.get("confidence"),
        "statements": tuple(map(statement_in, decision.get("statements") or ())),
        "min_extent_mm": decision.get("min_extent_mm", 10.0),
        "are_extents_sure": decision.get("extents_sure"),
        "part_answers": part_answers_in(decision),
    }


def _case_of_refused_record(pack: Pack, record: VolumeRecord, message: str) -> Case:
    """The case of a volume of the pack that was refused, with this reason."""
    return case_of_refusal(
        volume_id=record.name_in_reports,
        subject_id=record.subject,
        collection=record.collection,
        message=message,
        attributes=record.attributes,
        class_count=len(pack.classes),
    )
