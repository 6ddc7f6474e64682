"""The page of one predicted volume: the answer in plain words and region by region, two views with
the spans, the probabilities, and a viewer of its slices."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fovnet._version import __version__
from fovnet.decision.statements import NO_REGION, RegionEnd, Statement
from fovnet.drawing.raster import contact_sheet, jpeg_uri
from fovnet.evaluate.reading import borders_in, spans_in, statement_in
from fovnet.records import write_text
from fovnet.regions import NONE, Vocabulary
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.region_answers import (
    GUESS_EXPLANATION,
    STATUS_IN_WORDS,
    DoubtGroup,
    RegionChip,
    answer_sentence,
    chips,
    doubt_groups,
    is_guess_unsure,
    is_only_guess,
    unsure_regions,
)
from fovnet.report.content.wording import regions_text, whole_mm
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_drawing import BodyDrawing, ProbabilityCurve, body_drawing
from fovnet.report.pages.pour import template_environment
from fovnet.words import join_names, several

MOST_SLICES = 64
"""Maximum number of slices on a page, evenly spaced from feet to head: a whole body at 3 mm has
500, which would take a megabyte."""
ACROSS = 8
"""Slices side by side on the contact sheet."""
SHEET_QUALITY = 55


@dataclass(frozen=True)
class Viewer:
    """What the slice viewer knows of each slice shown; the script reads these names.

    across     slices side by side on the sheet
    mm         heights
    slice      numbers in the file
    predicted  classes, in words
    sure       confidence; None where what the slice is predicted to show is unsure
    down       heights in the drawing
    """

    across: int
    mm: list[float]
    slice: list[int]
    predicted: list[str]
    sure: list[float | None]
    down: list[float]


@dataclass(frozen=True)
class VolumePage:
    """The content of the page, as text.

    extent       where the regions reach, and how sure that is; "" where nothing is said region by
                 region
    guess_words  what a best guess is, where it is not sure
    said         the answer region by region, as chips; empty for an ensemble that gives none
    statements   the same as a table
    measured     where the answer comes from
    figures      what statisticians ask for
    legend       names the curves in the order of the regions
    guessed      whether all that is predicted is a guess
    unsure       regions whose spans are guesses
    heights      as in `heights_of`
    """

    volume_id: str
    status: str
    sentence: str
    extent: str
    guess_words: str
    least_mm: str
    said: tuple[RegionChip, ...]
    statements: ReportTable
    doubts: tuple[DoubtGroup, ...]
    spans: ReportTable
    boundaries: ReportTable
    measured: ReportTable
    figures: ReportTable
    legend: tuple[ProbabilityCurve, ...]
    drawing: BodyDrawing
    sheet: str
    sheet_words: str
    viewer: Viewer
    faces: bool
    guessed: bool
    unsure: tuple[str, ...]
    heights: str


def volume_page(
    volume_json: Mapping[str, Any],
    pixels: NDArray[np.uint8],
    vocabulary: Vocabulary,
    *,
    faces: bool = True,
) -> VolumePage:
    """The page of a decided volume, from the facts of its JSON and its slices (s, 128, 128); what
    the facts lack is left out.

    faces  False if slices that may show a face are covered in `pixels`; the page then states it
    """
    z_mm = np.asarray(volume_json["z_mm"], dtype=np.float64)
    smoothed = np.asarray(volume_json["smoothed"], dtype=np.float64)
    span_facts = list(volume_json["spans"])
    boundaries = list(volume_json.get("boundaries") or ())
    statements = tuple(map(statement_in, volume_json.get("statements") or ()))
    status = str(volume_json["status"])
    is_only_a_guess = is_only_guess(statements, status)
    groups_of_doubts = doubt_groups(volume_json, statements)
    unsure_names = unsure_regions(statements, [str(span["region"]) for span in span_facts], status)
    shown_slices = np.unique(
        np.linspace(0, len(z_mm) - 1, min(MOST_SLICES, len(z_mm))).round().astype(np.int64)
    )
    body = Body(
        pixels, z_mm, float(volume_json["side_mm"]), smoothed, spans_in(span_facts), vocabulary
    )
    drawing = body_drawing(body, borders_in(boundaries) or ())
    return VolumePage(
        volume_id=str(volume_json["volume_id"]),
        status=STATUS_IN_WORDS[status],
        sentence=answer_sentence(statements, (), "")
        if statements
        else _whole_volume_sentence(volume_json, vocabulary),
        extent=_extent_text(volume_json, is_only_a_guess) if statements else "",
        guess_words=GUESS_EXPLANATION if is_guess_unsure(statements) else "",
        least_mm=_mm_text(volume_json.get("min_extent_mm", 10.0)),
        said=chips(statements, vocabulary),
        statements=_statements_table(statements, vocabulary),
        doubts=groups_of_doubts,
        spans=_spans_table(span_facts, unsure_names),
        boundaries=_borders_table(() if statements else boundaries),
        measured=_origins_table(volume_json, z_mm),
        figures=_figures_table(volume_json, groups_of_doubts),
        legend=tuple(
            sorted(drawing.curves, key=lambda curve: vocabulary.classes.index(curve.name))
        ),
        drawing=drawing,
        sheet=jpeg_uri(contact_sheet(pixels[shown_slices], ACROSS), SHEET_QUALITY),
        sheet_words=(
            f"{several(len(shown_slices), 'cut')} of {len(z_mm):,}, from the feet (top left) to the "
            "head, in reading order"
        ),
        viewer=_slice_viewer(
            volume_json, z_mm, shown_slices, drawing, vocabulary, is_only_a_guess, unsure_names
        ),
        faces=faces,
        guessed=is_only_a_guess,
        unsure=unsure_names,
        heights=heights_of(volume_json),
    )


def write_volume_page(path: Path, page: VolumePage) -> Path:
    """Writes the page as one HTML file, atomically; returns `path`."""
    viewer_json = Markup(
        json.dumps(asdict(page.viewer), separators=(",", ":")).replace("<", "\\u003c")
    )
    template = template_environment().get_template("volume.html.jinja")
    page_html = template.render(page=page, drawing=page.drawing, data=viewer_json)
    return write_text(path, page_html, keep_same=True)


def heights_of(volume_json: Mapping[str, Any]) -> str:
    """Whose millimetres an answer's heights are: the "scanner"'s, or a "template"'s."""
    return "template" if "template" in str(volume_json.get("code", "")).split() else "scanner"


def _whole_volume_sentence(volume_json: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    """What a volume shows, where nothing is said region by region."""
    is_unsure = volume_json["status"] == "uncertain"
    if not volume_json["spans"] and is_unsure:
        return f"Best guess: {NO_REGION}."
    if not volume_json["spans"]:
        return f"Shows {NO_REGION}{_confidence_clause(volume_json, vocabulary)}."
    unique_regions = dict.fromkeys(span["region"] for span in volume_json["spans"])
    regions_phrase = regions_text(tuple(unique_regions), vocabulary)
    if is_unsure:
        return f"Best guess: {regions_phrase}, {_reach_text(volume_json)}."
    sentence = f"Shows: {regions_phrase}, {_reach_text(volume_json)}{_confidence_clause(volume_json, vocabulary)}."
    set_probability = volume_json.get("set_probability")
    if set_probability is None:
        return sentence
    return f"{sentence} The probability of exactly these regions is {set_probability:.2f}."


def _extent_text(volume_json: Mapping[str, Any], is_guess: bool) -> str:
    """From where to where the spans reach, and whether their ends are sure.

    Without the probability of exactly these regions: it counts a single slice of a region, a
    statement at least min_extent_mm, and each is calibrated apart, so that it may be above that of
    one of its regions.
    """
    sentences = []
    if volume_json["spans"]:
        reaching_phrase = "The best guess reaches" if is_guess else "Found"
        sentences.append(f"{reaching_phrase} {_reach_text(volume_json)}.")
    if not volume_json.get("extents_sure", True):
        sentences.append("It is not sure where the regions begin and end.")
    return " ".join(sentences)


def _reach_text(volume_json: Mapping[str, Any]) -> str:
    """From where to where the spans reach together."""
    low_mm = min(span["from_mm"] for span in volume_json["spans"])
    high_mm = max(span["to_mm"] for span in volume_json["spans"])
    return f"from {_mm_text(low_mm)} to {_mm_text(high_mm)} of {heights_of(volume_json)} height"


def _statements_table(statements: Sequence[Statement], vocabulary: Vocabulary) -> ReportTable:
    """One row per statement: the answer, its probability, both ends, and why it is unsure."""
    rows = [
        (
            statement.region,
            statement.answer,
            f"{statement.probability:.2f}",
            _end_text(statement.lower),
            _end_text(statement.upper),
            _doubts_text(statement),
        )
        for statement in statements
    ]
    end_titles = ("from (90 % interval)", "to (90 % interval)")
    header = ("region", "shown?", "probability", *end_titles, "unsure because")
    return ReportTable(
        header, rows, [vocabulary.colour(statement.region) for statement in statements]
    )


def _end_text(end: RegionEnd | None) -> str:
    if end is None:
        return "–"
    if end.low_mm is None or end.high_mm is None:
        return _mm_text(end.mm)
    return f"{_mm_text(end.mm)} ({_mm_text(end.low_mm)} to {_mm_text(end.high_mm)})"


def _doubts_text(statement: Statement) -> str:
    if statement.is_sure:
        return "–"
    return (
        join_names(map(doubt_in_words, statement.doubts))
        or "neither probable nor improbable enough"
    )


def _confidence_clause(volume_json: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    """The volume's confidence; with regions beside a spine, each region's, since the volume's is
    then the spine's alone."""
    confidence_by_region = {
        str(span["region"]): float(span["confidence"]) for span in volume_json["spans"]
    }
    if set(vocabulary.side_regions) & set(confidence_by_region) and len(confidence_by_region) > 1:
        return ", confidence " + ", ".join(
            f"{confidence:.2f} in {region}" for region, confidence in confidence_by_region.items()
        )
    if volume_json.get("confidence") is None:
        return ""
    return f", confidence {volume_json['confidence']:.2f}"


def _classes_text(
    is_class: NDArray[np.bool_],
    slice_index: int,
    volume_json: Mapping[str, Any],
    vocabulary: Vocabulary,
    unsure_regions_of_volume: Collection[str],
) -> str:
    """The predicted classes of a slice; regions beside a spine have the confidence of their span,
    since the slice's is the spine's, unless these are unsure."""
    class_names = [vocabulary.classes[class_index] for class_index in np.flatnonzero(is_class)]
    if len(class_names) > 1:
        z_mm = float(volume_json["z_mm"][slice_index])
        confidence_by_region = {
            span["region"]: span["confidence"]
            for span in volume_json["spans"]
            if span["from_mm"] <= z_mm <= span["to_mm"]
            and span["region"] not in unsure_regions_of_volume
            and span["region"] not in vocabulary.side_regions
        }
        phrase_by_region = {
            region: f"{region} ({confidence:.2f} over its span)"
            for region, confidence in confidence_by_region.items()
        }
        class_names = [phrase_by_region.get(class_name, class_name) for class_name in class_names]
    return " and ".join(class_names) or NONE


def _spans_table(spans: Sequence[Mapping[str, Any]], unsure_names: Collection[str]) -> ReportTable:
    """One row per span: its slices, its heights, and its confidence where it is sure."""
    rows = [
        (
            _region_text(span),
            f"{span['first_slice']} to {span['last_slice']}",
            _mm_text(span["from_mm"]),
            _mm_text(span["to_mm"]),
            "–" if span["region"] in unsure_names else f"{span['confidence']:.2f}",
        )
        for span in spans
    ]
    return ReportTable(("region", "slices", "from", "to", "confidence"), rows)


def _region_text(span: Mapping[str, Any]) -> str:
    spine_levels = span.get("levels") or ()
    return f"{span['region']} ({', '.join(spine_levels)})" if spine_levels else str(span["region"])


def _borders_table(borders: Sequence[Mapping[str, Any]]) -> ReportTable:
    """One row per border: where it is predicted, and its 90 % interval."""
    rows = [
        (
            f"{border['below']} | {border['above']}",
            _mm_text(border["mm"]),
            f"{_mm_text(border['low_mm'])} to {_mm_text(border['high_mm'])}",
        )
        for border in borders
    ]
    return ReportTable(("border", "predicted at", "90 % interval"), rows)


def _origins_table(volume_json: Mapping[str, Any], z_mm: NDArray[np.float64]) -> ReportTable:
    """The file, its cuts, what was done while reading, and by which program and networks it was
    answered."""
    rows = [
        ("file", str(volume_json["path"])),
        ("cuts", f"{len(z_mm):,}, from {_mm_text(z_mm[0])} to {_mm_text(z_mm[-1])}"),
    ]
    rows += [("note", str(note)) for note in volume_json.get("notes") or ()]
    rows += [("fovnet", __version__)]
    rows += [
        (origin_in_words, str(volume_json[json_key]))
        for json_key, origin_in_words in WORDS_BY_ORIGIN.items()
        if volume_json.get(json_key)
    ]
    return ReportTable(("what", "value"), rows)


def _figures_table(
    volume_json: Mapping[str, Any], groups_of_doubts: Sequence[DoubtGroup]
) -> ReportTable:
    """The figures behind the doubts, then what was measured besides."""
    rows = [figure for doubt in groups_of_doubts for figure in doubt.figures]
    rows += [
        (meaning, f"{volume_json[json_key]:.2f}".replace("-", "\N{MINUS SIGN}"))
        for json_key, meaning in MEANING_BY_FIGURE.items()
        if volume_json.get(json_key) is not None
    ]
    return ReportTable(("what", "figure"), rows)


WORDS_BY_ORIGIN = {
    "model_name": "networks",
    "model": "identity of the networks",
    "checksum": "SHA-256 of the file",
}
"""What the answer was made by and from, by key of its JSON."""
MEANING_BY_FIGURE = {
    "novelty": "share of validation slices at least as unusual (small: unlike anything seen)",
    "agreement": "agreement of the networks (1: all predict the same)",
    "upright": (
        "probability, from the picture alone, that slices run from feet to head as in the header"
    ),
    "flipped_gain": "log-evidence for the reversed body order (below 0: it fits worse)",
}
"""Numbers of the answer, and their meaning; missing ones are left out."""


def _slice_viewer(
    volume_json: Mapping[str, Any],
    z_mm: NDArray[np.float64],
    shown_slices: NDArray[np.int64],
    drawing: BodyDrawing,
    vocabulary: Vocabulary,
    is_only_a_guess: bool,
    unsure_names: Collection[str],
) -> Viewer:
    """Of a volume of which all is a guess, or some regions are unsure."""
    decided_classes = np.asarray(volume_json["decided"], dtype=bool)[shown_slices]
    predicted_texts = [
        _classes_text(is_class, slice_index, volume_json, vocabulary, unsure_names)
        for is_class, slice_index in zip(decided_classes, shown_slices.tolist(), strict=True)
    ]
    shows_unsure_region = decided_classes[:, np.isin(vocabulary.classes, list(unsure_names))].any(
        axis=1
    )
    is_unsure = np.logical_or(is_only_a_guess, shows_unsure_region)
    confidences = np.round(np.asarray(volume_json["slice_confidence"])[shown_slices], 2).tolist()
    return Viewer(
        across=ACROSS,
        mm=np.round(z_mm[shown_slices], 1).tolist(),
        slice=np.asarray(volume_json["counted"])[shown_slices].tolist(),
        predicted=predicted_texts,
        sure=[
            None if is_unsure_slice else confidence
            for is_unsure_slice, confidence in zip(is_unsure, confidences, strict=True)
        ],
        down=[drawing.heights[slice_index] for slice_index in shown_slices.tolist()],
    )


def _mm_text(value: Any) -> str:
    return f"{whole_mm(float(value))}\N{NO-BREAK SPACE}mm"
