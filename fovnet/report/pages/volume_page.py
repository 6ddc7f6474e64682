"""The page of one predicted volume: the answer in plain words and region by region, two views with
the spans, the probabilities, and a viewer of its slices."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fovnet._version import __version__
from fovnet.decision.statements import NO_REGION, RegionEnd, Statement, statement_sentences
from fovnet.drawing.raster import contact_sheet, jpeg_uri
from fovnet.evaluate.stored_answers import borders_in, spans_in, statement_in
from fovnet.records import write_text
from fovnet.regions import NONE, Vocabulary
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.parts import VolumeParts, parts_in_facts
from fovnet.report.content.region_answers import (
    GUESS_EXPLANATION,
    STATUS_IN_WORDS,
    DoubtGroup,
    RegionChip,
    chips_of_parts,
    chips_of_statements,
    find_unsure_regions,
    group_doubts,
    is_guess_unsure,
    is_only_guess,
)
from fovnet.report.content.wording import DASH, minus, regions_text, whole_mm
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_drawing import BodyDrawing, ProbabilityCurve, draw_body
from fovnet.report.pages.templating import template_environment
from fovnet.words import join_names, several

MOST_SLICES = 64
"""Maximum number of slices on a page, evenly spaced from feet to head: a whole body at 3 mm has
500, which would take a megabyte."""
SLICES_PER_LINE = 8
"""Slices side by side on the contact sheet."""
SHEET_QUALITY = 55  # of its JPEG
DEFAULT_LEAST_MM = 10.0
"""The least length of a region that counts, where an answer does not tell it."""


@dataclass(frozen=True)
class Viewer:
    """What the slice viewer knows of each slice shown.

    slices_per_line   on the sheet
    heights_mm        of the slices
    slice_numbers     in the file
    predicted_texts   predicted classes in words
    confidences       None where what the slice is predicted to show is unsure
    tops_in_drawing   distances from the top of the drawing
    """

    slices_per_line: int
    heights_mm: list[float]
    slice_numbers: list[int]
    predicted_texts: list[str]
    confidences: list[float | None]
    tops_in_drawing: list[float]

    def script_data(self) -> dict[str, Any]:
        """The same under the names by which volume.js reads it."""
        return {
            "across": self.slices_per_line,
            "mm": self.heights_mm,
            "slice": self.slice_numbers,
            "predicted": self.predicted_texts,
            "sure": self.confidences,
            "down": self.tops_in_drawing,
        }


@dataclass(frozen=True)
class VolumePage:
    """The content of the page, as text.

    extent            where the regions reach, and how sure that is; "" where nothing is said region
                      by region
    guess_words       what a best guess is, where it is not sure
    least_mm          length of a region from which on it counts as shown
    chips             the answer region by region; none for an ensemble that gives none
    part_chips        that on the parts of each region that may be shown and has parts
    statements        both as a table
    spans             predicted ones
    borders           between them, where nothing is said region by region
    origins           where the answer comes from
    figures           what statisticians ask for
    legend            names the curves in the order of the regions
    sheet             JPEG of the slices, a data: URI
    sheet_words       how many slices it has of how many
    are_faces_shown   whether slices that may show a face are not covered
    is_only_guess     whether all that is predicted is a guess
    unsure_regions    those whose spans are guesses
    heights_owner     as `owner_of_heights` gives it
    """

    volume_id: str
    status: str
    sentence: str
    extent: str
    guess_words: str
    least_mm: str
    chips: tuple[RegionChip, ...]
    part_chips: tuple[tuple[RegionChip, ...], ...]
    statements: ReportTable
    doubts: tuple[DoubtGroup, ...]
    spans: ReportTable
    borders: ReportTable
    origins: ReportTable
    figures: ReportTable
    legend: tuple[ProbabilityCurve, ...]
    drawing: BodyDrawing
    sheet: str
    sheet_words: str
    viewer: Viewer
    are_faces_shown: bool
    is_only_guess: bool
    unsure_regions: tuple[str, ...]
    heights_owner: str


def make_volume_page(
    volume_json: Mapping[str, Any],
    pixels: NDArray[np.uint8],
    vocabulary: Vocabulary,
    *,
    faces: bool = True,
) -> VolumePage:
    """The page of a decided volume, from the facts of its JSON and its slices (s, 128, 128); what
    the facts lack is left out.

    vocabulary  the classes of the networks
    faces       False if slices that may show a face are covered in `pixels`; the page then states
                it
    """
    span_facts = list(volume_json["spans"])
    border_facts = list(volume_json.get("boundaries") or ())
    statements = tuple(map(statement_in, volume_json.get("statements") or ()))
    parts = parts_in_facts(volume_json)
    status = str(volume_json["status"])
    doubt_groups = group_doubts(volume_json, statements)
    is_guess = is_only_guess(statements, status)
    unsure_regions = find_unsure_regions(
        (*statements, *parts.statements), [str(span["region"]) for span in span_facts], status
    )
    shown_slices = _evenly_spaced(len(pixels))
    body = _body_of(volume_json, pixels, vocabulary, parts)
    drawing = draw_body(body, borders_in(border_facts) or ())
    if statements:
        sentence = statement_sentences(statements, parts.name_regions(statements))
        extent = _extent_text(volume_json, is_guess)
        border_facts = []  # the statements tell the ends of regions
    else:
        sentence = _whole_volume_sentence(volume_json, vocabulary.whole)
        extent = ""
    return VolumePage(
        volume_id=str(volume_json["volume_id"]),
        status=STATUS_IN_WORDS[status],
        sentence=sentence,
        extent=extent,
        guess_words=_guess_words(statements),
        least_mm=_mm_text(volume_json.get("min_extent_mm", DEFAULT_LEAST_MM)),
        chips=chips_of_statements(statements, vocabulary),
        part_chips=tuple(
            chips_of_parts(statement, parts, vocabulary)
            for statement in statements
            if parts.of(statement)
        ),
        statements=_statements_table(statements, parts, vocabulary),
        doubts=doubt_groups,
        spans=_spans_table(span_facts, volume_json.get("part_spans") or (), parts, unsure_regions),
        borders=_borders_table(border_facts),
        origins=_origins_table(volume_json, body.z_mm),
        figures=_figures_table(volume_json, doubt_groups),
        legend=_legend_of(drawing, vocabulary),
        drawing=drawing,
        sheet=jpeg_uri(contact_sheet(pixels[shown_slices], SLICES_PER_LINE), SHEET_QUALITY),
        sheet_words=_sheet_words(len(shown_slices), len(pixels)),
        viewer=_slice_viewer(
            volume_json, shown_slices, drawing, vocabulary.whole, is_guess, unsure_regions
        ),
        are_faces_shown=faces,
        is_only_guess=is_guess,
        unsure_regions=unsure_regions,
        heights_owner=owner_of_heights(volume_json),
    )


def _guess_words(statements: Sequence[Statement]) -> str:
    """What a guess is, where one is told of; else ""."""
    if is_guess_unsure(statements):
        return GUESS_EXPLANATION
    return ""


def _sheet_words(drawn_count: int, slice_count: int) -> str:
    """What the contact sheet shows."""
    return (
        f"{several(drawn_count, 'cut')} of {slice_count:,}, from the feet (top left) to the head, in "
        "reading order"
    )


def _legend_of(drawing: BodyDrawing, vocabulary: Vocabulary) -> tuple[ProbabilityCurve, ...]:
    """A curve of each class that has one, in the order of the names."""
    curve_by_name = {curve.name: curve for curve in drawing.curves}
    return tuple(curve_by_name[name] for name in vocabulary.answer_names if name in curve_by_name)


def _body_of(
    volume_json: Mapping[str, Any],
    pixels: NDArray[np.uint8],
    vocabulary: Vocabulary,
    parts: VolumeParts,
) -> Body:
    """A volume to draw, from the facts of its JSON and its slices."""
    return Body(
        pixels,
        np.asarray(volume_json["z_mm"], dtype=np.float64),
        float(volume_json["side_mm"]),
        np.asarray(volume_json["smoothed"], dtype=np.float64),
        parts.divide(spans_in(volume_json["spans"])),
        vocabulary,
        parts.shares_by_region,
    )


def _evenly_spaced(slice_count: int) -> NDArray[np.int64]:
    """Indices of at most MOST_SLICES slices, the first and the last included."""
    indices = np.linspace(0, slice_count - 1, min(MOST_SLICES, slice_count))
    return np.unique(indices.round().astype(np.int64))


def write_volume_page(path: Path, page: VolumePage) -> Path:
    """Writes the page as one HTML file, atomically; returns `path`."""
    viewer_json = json.dumps(page.viewer.script_data(), separators=(",", ":"))
    script_text = Markup(viewer_json.replace("<", "\\u003c"))
    template = template_environment().get_template("volume.html.jinja")
    page_html = template.render(page=page, drawing=page.drawing, data=script_text)
    return write_text(path, page_html, keep_same=True)


def owner_of_heights(volume_json: Mapping[str, Any]) -> str:
    """Whose millimetres an answer's heights are: the "scanner"'s, or a "template"'s."""
    if "template" in str(volume_json.get("code", "")).split():
        return "template"
    return "scanner"


def _whole_volume_sentence(volume_json: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    """What a volume shows, where nothing is said region by region."""
    is_unsure = volume_json["status"] == "uncertain"
    if not volume_json["spans"] and is_unsure:
        return f"Best guess: {NO_REGION}."
    confidence_clause = _confidence_clause(volume_json, vocabulary)
    if not volume_json["spans"]:
        return f"Shows {NO_REGION}{confidence_clause}."
    unique_regions = dict.fromkeys(span["region"] for span in volume_json["spans"])
    regions_phrase = regions_text(tuple(unique_regions), vocabulary)
    reach_phrase = _reach_phrase(volume_json)
    if is_unsure:
        return f"Best guess: {regions_phrase}, {reach_phrase}."
    sentence = f"Shows: {regions_phrase}, {reach_phrase}{confidence_clause}."
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
        opening_phrase = "Found"
        if is_guess:
            opening_phrase = "The best guess reaches"
        sentences.append(f"{opening_phrase} {_reach_phrase(volume_json)}.")
    if not volume_json.get("extents_sure", True):
        sentences.append("It is not sure where the regions begin and end.")
    return " ".join(sentences)


def _reach_phrase(volume_json: Mapping[str, Any]) -> str:
    """From where to where the spans reach together."""
    low_mm = min(span["from_mm"] for span in volume_json["spans"])
    high_mm = max(span["to_mm"] for span in volume_json["spans"])
    owner = owner_of_heights(volume_json)
    return f"from {_mm_text(low_mm)} to {_mm_text(high_mm)} of {owner} height"


def _statements_table(
    statements: Sequence[Statement], parts: VolumeParts, vocabulary: Vocabulary
) -> ReportTable:
    """One row per statement, each followed by those on the parts of its region: the answer, its
    probability, both ends, and why it is unsure."""
    rows = []
    colours = []
    for statement in statements:
        rows.append((statement.region, *_statement_cells(statement)))
        colours.append(vocabulary.colour(statement.region))
        for part in parts.of(statement):
            rows.append((_part_text(statement.region, part.region), *_statement_cells(part)))
            colours.append(vocabulary.colour(part.region))
    end_titles = ("from (90 % interval)", "to (90 % interval)")
    header = ("region", "shown?", "probability", *end_titles, "unsure because")
    return ReportTable(header, rows, colours)


def _statement_cells(statement: Statement) -> tuple[str, ...]:
    """The cells of a statement after its name."""
    return (
        statement.answer,
        f"{statement.probability:.2f}",
        _end_text(statement.lower),
        _end_text(statement.upper),
        _doubts_text(statement),
    )


def _part_text(region: str, part: str) -> str:
    """ "legs: knee": a part in a table of regions, on one line."""
    return f"{region}: {part}".replace(" ", "\N{NO-BREAK SPACE}")


def _end_text(end: RegionEnd | None) -> str:
    """ "−40 mm (−52 mm to −31 mm)": the height of an end with its interval; a dash without an
    end."""
    if end is None:
        return DASH
    if end.low_mm is None or end.high_mm is None:
        return _mm_text(end.mm)
    return f"{_mm_text(end.mm)} ({_mm_text(end.low_mm)} to {_mm_text(end.high_mm)})"


def _doubts_text(statement: Statement) -> str:
    """Why a statement is unsure; a dash if it is sure."""
    if statement.is_sure:
        return DASH
    doubts_in_words = join_names(map(doubt_in_words, statement.doubts))
    return doubts_in_words or "neither probable nor improbable enough"


def _confidence_clause(volume_json: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    """The volume's confidence; with regions beside a spine, each region's, since the volume's is
    then the spine's alone."""
    confidence_by_region = {
        str(span["region"]): float(span["confidence"]) for span in volume_json["spans"]
    }
    has_side_region = not confidence_by_region.keys().isdisjoint(vocabulary.side_regions)
    if has_side_region and len(confidence_by_region) > 1:
        confidences = ", ".join(
            f"{confidence:.2f} in {region}" for region, confidence in confidence_by_region.items()
        )
        return f", confidence {confidences}"
    if volume_json.get("confidence") is None:
        return ""
    return f", confidence {volume_json['confidence']:.2f}"


def _classes_text(
    is_class: NDArray[np.bool_],
    z_mm: float,
    volume_json: Mapping[str, Any],
    vocabulary: Vocabulary,
    unsure_regions: Collection[str],
) -> str:
    """The predicted classes of a slice, marked in (k,), at the height `z_mm`; regions beside a
    spine have the confidence of their span, since the slice's is the spine's, unless they are
    unsure."""
    class_names = [vocabulary.classes[class_index] for class_index in np.flatnonzero(is_class)]
    if len(class_names) < 2:
        return "".join(class_names) or NONE
    unmarked_names = {*unsure_regions, *vocabulary.side_regions}
    phrase_by_region = {
        span["region"]: f"{span['region']} ({span['confidence']:.2f} over its span)"
        for span in volume_json["spans"]
        if span["from_mm"] <= z_mm <= span["to_mm"] and span["region"] not in unmarked_names
    }
    return " and ".join(phrase_by_region.get(name, name) for name in class_names)


def _spans_table(
    spans: Sequence[Mapping[str, Any]],
    part_spans: Sequence[Mapping[str, Any]],
    parts: VolumeParts,
    unsure_regions: Collection[str],
) -> ReportTable:
    """One row per span, as in a volume's JSON, each followed by those of its parts: its slices, its
    heights, and its confidence where it is sure."""
    rows = []
    for span in spans:
        rows.append((_region_text(span), *_span_cells(span, unsure_regions)))
        names = {part_span.region for part_span in parts.spans_in(span["region"])}
        rows += [
            (
                _part_text(span["region"], part_span["region"]),
                *_span_cells(part_span, unsure_regions),
            )
            for part_span in part_spans
            if part_span["region"] in names
        ]
    return ReportTable(("region", "slices", "from", "to", "confidence"), rows)


def _span_cells(span: Mapping[str, Any], unsure_regions: Collection[str]) -> tuple[str, ...]:
    """The cells of a span after its name."""
    confidence_text = f"{span['confidence']:.2f}"
    if span["region"] in unsure_regions:
        confidence_text = DASH
    return (
        f"{span['first_slice']} to {span['last_slice']}",
        _mm_text(span["from_mm"]),
        _mm_text(span["to_mm"]),
        confidence_text,
    )


def _region_text(span: Mapping[str, Any]) -> str:
    """ "spine (lumbar, thoracic)": the region of a span, with the levels of a spine."""
    spine_levels = span.get("levels")
    if not spine_levels:
        return str(span["region"])
    return f"{span['region']} ({', '.join(spine_levels)})"


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
    """The file, its cuts at the heights `z_mm` (s,), what was done while reading, and by which
    program and networks it was answered."""
    rows = [
        ("file", str(volume_json["path"])),
        ("cuts", f"{len(z_mm):,}, from {_mm_text(z_mm[0])} to {_mm_text(z_mm[-1])}"),
    ]
    rows += [("note", str(note)) for note in volume_json.get("notes") or ()]
    rows += [("fovnet", __version__)]
    rows += [
        (title, str(volume_json[json_key]))
        for json_key, title in TITLE_BY_ORIGIN.items()
        if volume_json.get(json_key)
    ]
    return ReportTable(("what", "value"), rows)


def _figures_table(
    volume_json: Mapping[str, Any], doubt_groups: Sequence[DoubtGroup]
) -> ReportTable:
    """The figures behind the doubts, then what was measured besides."""
    rows = [figure_row for group in doubt_groups for figure_row in group.figures]
    rows += [
        (meaning, minus(f"{volume_json[json_key]:.2f}"))
        for json_key, meaning in MEANING_BY_FIGURE.items()
        if volume_json.get(json_key) is not None
    ]
    return ReportTable(("what", "figure"), rows)


TITLE_BY_ORIGIN = {
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
    shown_slices: NDArray[np.int64],
    drawing: BodyDrawing,
    vocabulary: Vocabulary,
    is_guess: bool,
    unsure_regions: Collection[str],
) -> Viewer:
    """What the viewer knows of the slices with these indices; `is_guess` if all that is predicted
    of the volume is a guess, `unsure_regions` the regions whose spans are."""
    is_class_of_slices = np.asarray(volume_json["decided"], dtype=bool)[shown_slices]
    heights_mm = np.asarray(volume_json["z_mm"], dtype=np.float64)[shown_slices]
    parts = parts_in_facts(volume_json)
    predicted_texts = [
        parts.name_at(z_mm) + _classes_text(is_class, z_mm, volume_json, vocabulary, unsure_regions)
        for is_class, z_mm in zip(is_class_of_slices, heights_mm.tolist(), strict=True)
    ]
    is_unsure_class = np.isin(vocabulary.classes, list(unsure_regions))
    is_unsure = is_guess | is_class_of_slices[:, is_unsure_class].any(axis=1)
    confidences = np.asarray(volume_json["slice_confidence"], dtype=np.float64)[shown_slices]
    told_confidences = confidences.round(2).astype(object)
    told_confidences[is_unsure] = None
    return Viewer(
        slices_per_line=SLICES_PER_LINE,
        heights_mm=heights_mm.round(1).tolist(),
        slice_numbers=np.asarray(volume_json["counted"])[shown_slices].tolist(),
        predicted_texts=predicted_texts,
        confidences=told_confidences.tolist(),
        tops_in_drawing=[drawing.slice_tops[index] for index in shown_slices.tolist()],
    )


def _mm_text(height_mm: Any) -> str:
    """ "−40 mm", with a no-break space."""
    return f"{whole_mm(float(height_mm))}\N{NO-BREAK SPACE}mm"
