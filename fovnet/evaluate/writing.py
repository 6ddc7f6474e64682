"""An evaluation on disk: JSON for programs, TSV for spreadsheets."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.evaluate.calibration import BIN_COUNT
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.measures import FEWEST_SUBJECTS, Measure
from fovnet.evaluate.overlaps import LEAST_OVERLAP
from fovnet.evaluate.parts import PartEvaluation
from fovnet.own_files import begins_with_columns, is_our_json, refuse_foreign
from fovnet.records import clear_unfinished, write_json, write_tsv
from fovnet.words import yes_or_no

RATE_COLUMNS = [
    "group",
    "measure",
    "stage",
    "region",
    "subjects",
    "numerator",
    "denominator",
    "value",
    "low",
    "high",
    "interval",
    "too_few",
]
VOLUME_COLUMNS = [
    "volume_id",
    "subject_id",
    "collection",
    "status",
    "truth",
    "predicted",
    "right",
    "slices",
    "wrong_raw",
    "wrong",
    "slice_error",
    "far",
    "confidence",
    "message",
    "set_probability",
    "doubts",
    "extents",
    "shows",
    "unsure",
]
BORDER_COLUMNS = [
    "volume_id",
    "below",
    "above",
    "true_mm",
    "predicted_mm",
    "error_mm",
    "low_mm",
    "high_mm",
]
PART_COLUMNS = RATE_COLUMNS[1:-1]
PART_COLUMNS_OF_VOLUMES = ["truth_parts", "shows_parts", "unsure_parts", "wrong_parts"]
"""Columns of volumes.tsv, after all others, where parts were evaluated; of wrong statements those
that are decided."""
HEADER_COLUMNS = ["text", "header", "truth", "predicted", "volumes"]
COLUMNS_BY_TABLE = {
    "rates": RATE_COLUMNS,
    "volumes": VOLUME_COLUMNS,
    "borders": BORDER_COLUMNS,
    "headers": HEADER_COLUMNS,
    "parts": PART_COLUMNS,
}


def evaluation_facts(evaluation: Evaluation) -> dict[str, Any]:
    """All measures as values that JSON can hold; None where a number is not defined."""
    error_of_answered = evaluation.answered and evaluation.answered.find("slice_error", "decided")
    return {
        "classes": list(evaluation.vocabulary.classes),
        "intervals": {
            "level": 0.95,
            "method": "bootstrap over subjects (each measure says which); Wilson where "
            "observations are independent",
            "bootstrap": evaluation.bootstrap,
            "seed": evaluation.seed,
            "too_few_subjects_below": FEWEST_SUBJECTS,
        },
        "agreement_mm": AGREEMENT_MM,
        "calibration_bins": BIN_COUNT,
        "span_overlap": LEAST_OVERLAP,
        "handling": [asdict(measure) for measure in evaluation.handling],
        "groups": [asdict(group) for group in evaluation.groups],
        "confusions": {stage: matrix.tolist() for stage, matrix in evaluation.confusions.items()},
        "reliability": {stage: totals.tolist() for stage, totals in evaluation.reliability.items()},
        "borders": [
            {**asdict(border), "error_mm": border.error_mm} for border in evaluation.borders
        ],
        "volumes": [{**asdict(row), "slice_error": row.slice_error} for row in evaluation.volumes],
        "abstention": {
            "stated_error": evaluation.stated_error,
            "met": evaluation.promise_met,
            "risk": asdict(evaluation.answered_risk) if evaluation.answered_risk else None,
            "slice_error": asdict(error_of_answered) if error_of_answered else None,
        },
        "risk_coverage": {name: values.tolist() for name, values in vars(evaluation.risk).items()},
        "statements": {
            "curve": list(evaluation.statement_curve),
            "reliability": None
            if evaluation.statement_bins is None
            else evaluation.statement_bins.tolist(),
        },
        "doubts": [asdict(row) for row in evaluation.doubts],
        "headers": {
            "rates": [asdict(measure) for measure in evaluation.header_rates],
            "rows": [asdict(row) for row in evaluation.headers],
        },
        **_part_facts(evaluation.parts),
    }


def _part_facts(parts: PartEvaluation | None) -> dict[str, Any]:
    """What evaluation.json says of parts; empty where nothing was said of them."""
    if parts is None:
        return {}
    return {
        "parts": {
            **asdict(parts),
            "borders": [
                {**asdict(border), "error_mm": border.error_mm} for border in parts.borders
            ],
        }
    }


def rate_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One row a measure and group, in the columns of rates.tsv."""
    named_groups = [
        ("volumes", "", evaluation.handling),
        ("header", "", evaluation.header_rates),
        *((group.name, yes_or_no(group.too_few), group.measures) for group in evaluation.groups),
    ]
    return [
        {**_rate_row(measure), "group": group_name, "too_few": too_few}
        for group_name, too_few, measures in named_groups
        for measure in measures
    ]


def _rate_row(measure: Measure) -> dict[str, Any]:
    """A measure in the columns of rates.tsv, without its group."""
    return {
        **asdict(measure),
        "measure": measure.name,
        "numerator": _without_decimals(measure.numerator),
    }


def write_evaluation(out: Path, evaluation: Evaluation, *, settings: Any = None) -> list[Path]:
    """The files written in folder `out`: evaluation.json, rates.tsv, volumes.tsv, borders.tsv;
    headers.tsv where headers were understood, parts.tsv where parts of regions were evaluated.

    `settings` is the section of the configuration that made the evaluation; its hash is written in
    the JSON. Raises ConfigError "out-foreign" where a file of one of these names is not an
    evaluation's, such as the volumes.tsv of a collection.
    """
    refuse_foreign_files(out)
    clear_unfinished(out)
    border_rows = [{**asdict(border), "error_mm": border.error_mm} for border in evaluation.borders]
    header_table_rows = [
        {**asdict(row), **{name: "+".join(getattr(row, name)) for name in HEADER_COLUMNS[1:4]}}
        for row in evaluation.headers
    ]
    part_measures = evaluation.parts.measures if evaluation.parts else ()
    volume_columns = VOLUME_COLUMNS + (PART_COLUMNS_OF_VOLUMES if evaluation.parts else [])
    files = [
        write_json(
            out / "evaluation.json",
            evaluation_facts(evaluation),
            settings=settings,
            seed=evaluation.seed,
        ),
        write_tsv(out / "rates.tsv", RATE_COLUMNS, rate_rows(evaluation)),
        write_tsv(out / "volumes.tsv", volume_columns, _volume_rows(evaluation)),
        write_tsv(out / "borders.tsv", BORDER_COLUMNS, border_rows),
    ]
    for table_name, rows in (
        ("headers", header_table_rows),
        ("parts", [_rate_row(measure) for measure in part_measures]),
    ):
        table_file = out / f"{table_name}.tsv"
        if rows:
            files.append(write_tsv(table_file, COLUMNS_BY_TABLE[table_name], rows))
        else:
            table_file.unlink(missing_ok=True)
    return files


def _volume_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The rows of volumes.tsv."""
    part_cells_by_volume = {}
    if evaluation.parts is not None:
        part_cells_by_volume = {
            row.volume_id: {
                "truth_parts": "+".join(row.truth),
                "shows_parts": "+".join(row.shows),
                "unsure_parts": "+".join(row.unsure),
                "wrong_parts": "+".join((*row.wrong_yes, *row.wrong_no)),
            }
            for row in evaluation.parts.volumes
        }
    return [
        {**asdict(row), "slice_error": row.slice_error, "right": yes_or_no(row.right)}
        | {
            "truth": "+".join(row.truth),
            "predicted": "+".join(row.predicted),
            "doubts": " ".join(dict.fromkeys(row.doubts)),
            "shows": "+".join(row.shows),
            "unsure": "+".join(row.unsure),
        }
        | part_cells_by_volume.get(row.volume_id, {})
        for row in evaluation.volumes
    ]


def refuse_foreign_files(out: Path) -> None:
    """Raise ConfigError "out-foreign" unless the files of an evaluation may be written in a
    folder."""
    for table_name, columns in COLUMNS_BY_TABLE.items():
        # columns were added at the end
        refuse_foreign(out / f"{table_name}.tsv", partial(begins_with_columns, columns=columns[:3]))
    refuse_foreign(out / "evaluation.json", is_our_json)


def _without_decimals(number: float | None) -> int | float | None:
    """Whole numbers without decimals, for the table."""
    return int(number) if number is not None and number == int(number) else number
