"""The page of one predicted volume: the answer in plain words and region by region, two views with the spans,
the probabilities, and a viewer of its slices."""

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
from fovnet.report.content.cells import Table
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.said import (
    ANSWERS,
    GUESS_WORDS,
    Doubted,
    Said,
    chips,
    doubted,
    is_guess_unsure,
    is_only_guess,
    sentence,
    unsure_regions,
)
from fovnet.report.content.wording import run_of, whole_mm
from fovnet.report.figures.body_drawing import Curve, Drawing, body_drawing
from fovnet.report.pages.pour import rooms
from fovnet.words import join_names, several

MOST_SLICES = 64
"""Maximum number of slices on a page, evenly spaced from feet to head: a whole body at 3 mm has 500, which
would take a megabyte."""
ACROSS = 8
"""Slices side by side on the contact sheet."""
SHEET_QUALITY = 55


@dataclass(frozen=True)
class Viewer:
    """What the slice viewer knows of each slice shown: height in mm, number in the file, predicted classes,
    confidence (None where what it is predicted to show is unsure), height in the drawing; `across` slices lie
    side by side on the sheet.

    The script reads these names.
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

    said, statements  the answer region by region, as chips and as a table, both empty for an ensemble that
                      gives none;  `extent` is then where the regions reach, and how sure that is
    unsure            regions whose spans are guesses;  `guessed`  whether all that is predicted is a guess
    guess_words       what a best guess is, where it is not sure
    measured, figures where the answer comes from;  what statisticians ask for
    legend            names the curves in the order of the regions;  `heights` as in `heights_of`
    """

    volume_id: str
    status: str
    sentence: str
    extent: str
    guess_words: str
    least_mm: str
    said: tuple[Said, ...]
    statements: Table
    doubts: tuple[Doubted, ...]
    spans: Table
    boundaries: Table
    measured: Table
    figures: Table
    legend: tuple[Curve, ...]
    drawing: Drawing
    sheet: str
    sheet_words: str
    viewer: Viewer
    faces: bool
    guessed: bool
    unsure: tuple[str, ...]
    heights: str


def volume_page(
    body: Mapping[str, Any],
    pixels: NDArray[np.uint8],
    vocabulary: Vocabulary,
    *,
    faces: bool = True,
) -> VolumePage:
    """The page of a decided volume, from the facts of its JSON and its slices (s, 128, 128); what the facts
    lack is left out.

    faces  False if slices that may show a face are covered in `pixels`; the page then states it
    """
    z_mm, smoothed = (
        np.asarray(body["z_mm"], dtype=np.float64),
        np.asarray(body["smoothed"], dtype=np.float64),
    )
    spans, boundaries = list(body["spans"]), list(body.get("boundaries") or ())
    made, status = tuple(map(statement_in, body.get("statements") or ())), str(body["status"])
    guessed, doubts = is_only_guess(made, status), doubted(body, made)
    unsure = unsure_regions(made, [str(span["region"]) for span in spans], status)
    shown = np.unique(
        np.linspace(0, len(z_mm) - 1, min(MOST_SLICES, len(z_mm))).round().astype(np.int64)
    )
    drawn = spans_in(spans), borders_in(boundaries) or ()
    drawing = body_drawing(pixels, z_mm, float(body["side_mm"]), smoothed, *drawn, vocabulary)
    return VolumePage(
        volume_id=str(body["volume_id"]),
        status=ANSWERS[status],
        sentence=sentence(made, (), "") if made else _sentence(body, vocabulary),
        extent=_extent(body, guessed) if made else "",
        guess_words=GUESS_WORDS if is_guess_unsure(made) else "",
        least_mm=_mm(body.get("min_extent_mm", 10.0)),
        said=chips(made, vocabulary),
        statements=_statements(made, vocabulary),
        doubts=doubts,
        spans=_spans(spans, unsure),
        boundaries=_boundaries(() if made else boundaries),
        measured=_measured(body, z_mm),
        figures=_figures(body, doubts),
        legend=tuple(sorted(drawing.curves, key=lambda one: vocabulary.classes.index(one.name))),
        drawing=drawing,
        sheet=jpeg_uri(contact_sheet(pixels[shown], ACROSS), SHEET_QUALITY),
        sheet_words=f"{several(len(shown), 'cut')} of {len(z_mm):,}, from the feet (top left) to the head, "
        "in reading order",
        viewer=_viewer(body, z_mm, shown, drawing, vocabulary, guessed, unsure),
        faces=faces,
        guessed=guessed,
        unsure=unsure,
        heights=heights_of(body),
    )


def write_volume_page(path: Path, page: VolumePage) -> Path:
    """Writes the page as one HTML file, atomically; returns `path`."""
    data = Markup(json.dumps(asdict(page.viewer), separators=(",", ":")).replace("<", "\\u003c"))
    return write_text(
        path,
        rooms()
        .get_template("volume.html.jinja")
        .render(page=page, drawing=page.drawing, data=data),
        keep_same=True,
    )


def heights_of(body: Mapping[str, Any]) -> str:
    """Whose millimetres an answer's heights are: the "scanner"'s, or a "template"'s."""
    return "template" if "template" in str(body.get("code", "")).split() else "scanner"


def _sentence(body: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    spans, is_unsure = body["spans"], body["status"] == "uncertain"
    if not spans:
        sure = _sure(body, vocabulary)
        return f"Best guess: {NO_REGION}." if is_unsure else f"Shows {NO_REGION}{sure}."
    regions = run_of(tuple(dict.fromkeys(span["region"] for span in spans)), vocabulary)
    if is_unsure:
        return f"Best guess: {regions}, {_reach(body)}."
    whole = body.get("set_probability")
    exact = (
        f" The probability of exactly these regions is {whole:.2f}." if whole is not None else ""
    )
    return f"Shows: {regions}, {_reach(body)}{_sure(body, vocabulary)}.{exact}"


def _extent(body: Mapping[str, Any], guessed: bool) -> str:
    """From where to where the spans reach, and whether their ends are sure.

    Without the probability of exactly these regions: it counts a single slice of a region, a statement at
    least min_extent_mm, and each is calibrated apart, so that it may be above that of one of its regions.
    """
    spans = body["spans"]
    words = [f"{'The best guess reaches' if guessed else 'Found'} {_reach(body)}."] if spans else []
    if not body.get("extents_sure", True):
        words.append("It is not sure where the regions begin and end.")
    return " ".join(words)


def _reach(body: Mapping[str, Any]) -> str:
    """From where to where the spans reach together."""
    low, high = (
        min(one["from_mm"] for one in body["spans"]),
        max(one["to_mm"] for one in body["spans"]),
    )
    return f"from {_mm(low)} to {_mm(high)} of {heights_of(body)} height"


def _statements(made: Sequence[Statement], vocabulary: Vocabulary) -> Table:
    rows = [
        (
            one.region,
            one.answer,
            f"{one.probability:.2f}",
            _end(one.lower),
            _end(one.upper),
            _why(one),
        )
        for one in made
    ]
    ends = ("from (90 % interval)", "to (90 % interval)")
    header = ("region", "shown?", "probability", *ends, "unsure because")
    return Table(header, rows, [vocabulary.colour(one.region) for one in made])


def _end(end: RegionEnd | None) -> str:
    if end is None:
        return "–"
    known = end.low_mm is not None and end.high_mm is not None
    return f"{_mm(end.mm)} ({_mm(end.low_mm)} to {_mm(end.high_mm)})" if known else _mm(end.mm)


def _why(one: Statement) -> str:
    if one.is_sure:
        return "–"
    return join_names(map(doubt_in_words, one.doubts)) or "neither probable nor improbable enough"


def _sure(body: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    """The volume's confidence; with regions beside a spine, each region's, since the volume's is then the
    spine's alone."""
    regions = {str(span["region"]): float(span["confidence"]) for span in body["spans"]}
    if set(vocabulary.side_regions) & set(regions) and len(regions) > 1:
        return ", confidence " + ", ".join(
            f"{sure:.2f} in {region}" for region, sure in regions.items()
        )
    return f", confidence {body['confidence']:.2f}" if body.get("confidence") is not None else ""


def _predicted_text(
    row: NDArray[np.bool_],
    at: int,
    body: Mapping[str, Any],
    vocabulary: Vocabulary,
    unsure: Collection[str],
) -> str:
    """The predicted classes of slice `at`; regions beside a spine have the confidence of their span, since
    the slice's is the spine's, unless they are `unsure`."""
    classes = [vocabulary.classes[column] for column in np.flatnonzero(row)]
    if len(classes) > 1:
        z_mm = float(body["z_mm"][at])
        spans = {
            one["region"]: one["confidence"]
            for one in body["spans"]
            if one["from_mm"] <= z_mm <= one["to_mm"] and one["region"] not in unsure
        }
        beside = [name for name in classes if name not in vocabulary.side_regions and name in spans]
        classes = [
            f"{name} ({spans[name]:.2f} over its span)" if name in beside else name
            for name in classes
        ]
    return " and ".join(classes) or NONE


def _spans(spans: Sequence[Mapping[str, Any]], unsure: Collection[str]) -> Table:
    rows = [
        (
            _region(one),
            f"{one['first_slice']} to {one['last_slice']}",
            _mm(one["from_mm"]),
            _mm(one["to_mm"]),
            "–" if one["region"] in unsure else f"{one['confidence']:.2f}",
        )
        for one in spans
    ]
    return Table(("region", "slices", "from", "to", "confidence"), rows)


def _region(span: Mapping[str, Any]) -> str:
    levels = span.get("levels") or ()
    return f"{span['region']} ({', '.join(levels)})" if levels else str(span["region"])


def _boundaries(boundaries: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            f"{one['below']} | {one['above']}",
            _mm(one["mm"]),
            f"{_mm(one['low_mm'])} to {_mm(one['high_mm'])}",
        )
        for one in boundaries
    ]
    return Table(("border", "predicted at", "90 % interval"), rows)


def _measured(body: Mapping[str, Any], z_mm: NDArray[np.float64]) -> Table:
    rows = [
        ("file", str(body["path"])),
        ("cuts", f"{len(z_mm):,}, from {_mm(z_mm[0])} to {_mm(z_mm[-1])}"),
    ]
    rows += [("note", str(note)) for note in body.get("notes") or ()]
    rows += [("fovnet", __version__)]
    rows += [(words, str(body[key])) for key, words in ORIGINS.items() if body.get(key)]
    return Table(("what", "value"), rows)


def _figures(body: Mapping[str, Any], doubts: Sequence[Doubted]) -> Table:
    """The figures behind the doubts, then what was measured besides."""
    rows = [figure for doubt in doubts for figure in doubt.figures]
    rows += [
        (words, f"{body[key]:.2f}".replace("-", "\N{MINUS SIGN}"))
        for key, words in MEASURED.items()
        if body.get(key) is not None
    ]
    return Table(("what", "figure"), rows)


ORIGINS = {
    "model_name": "networks",
    "model": "identity of the networks",
    "checksum": "SHA-256 of the file",
}
"""What the answer was made by and from, by key of its JSON."""
MEASURED = {
    "novelty": "share of validation slices at least as unusual (small: unlike anything seen)",
    "agreement": "agreement of the networks (1: all predict the same)",
    "upright": "probability, from the picture alone, that slices run from feet to head as in the header",
    "flipped_gain": "log-evidence for the reversed body order (below 0: it fits worse)",
}
"""Numbers of the answer, and their meaning; missing ones are left out."""


def _viewer(
    body: Mapping[str, Any],
    z_mm: NDArray[np.float64],
    shown: NDArray[np.int64],
    drawing: Drawing,
    vocabulary: Vocabulary,
    guessed: bool,
    unsure: Collection[str],
) -> Viewer:
    """Of a volume of which all is `guessed`, or some regions are `unsure`."""
    decided = np.asarray(body["decided"], dtype=bool)[shown]
    predicted = [
        _predicted_text(row, at, body, vocabulary, unsure)
        for row, at in zip(decided, shown.tolist(), strict=True)
    ]
    touches_unsure = decided[:, np.isin(vocabulary.classes, list(unsure))].any(axis=1)
    is_unsure = np.logical_or(guessed, touches_unsure)
    confidence = np.round(np.asarray(body["slice_confidence"])[shown], 2).tolist()
    return Viewer(
        across=ACROSS,
        mm=np.round(z_mm[shown], 1).tolist(),
        slice=np.asarray(body["counted"])[shown].tolist(),
        predicted=predicted,
        sure=[
            None if doubted else share for doubted, share in zip(is_unsure, confidence, strict=True)
        ],
        down=[drawing.heights[row] for row in shown.tolist()],
    )


def _mm(value: Any) -> str:
    return f"{whole_mm(float(value))}\N{NO-BREAK SPACE}mm"
