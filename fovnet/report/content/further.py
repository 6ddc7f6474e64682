"""Sections of the page that need optional facts of the evaluation, the decision or the ablation; empty without them.

They are read from JSON, so that a report can be made of the results folder of an older run too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fovnet.evaluate.measures import Measure
from fovnet.regions import Vocabulary
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.page import AblationView, Shown, Table
from fovnet.report.content.wording import percent, run_of, shown
from fovnet.words import several

Facts = Mapping[str, Any]
ABLATED = {
    "slice_error": "slice error", "span_f1": "F1 of spans", "exact_set": "right set of regions",
    "border_within_10_mm": "borders within 10 mm", "border_abs_median_mm": "border error, median",
}
"""Measures of the arms that the page shows; the TSV beside the evaluation has all."""

HEADERS = {
    "header_understood": "headers that name a region", "header_exact": "the header names exactly the regions shown",
    "header_beside": "the header names none of the regions shown",
    "predicted_exact_where_header": "fovnet predicts exactly the regions shown",
    "header_and_prediction_differ": "header and fovnet differ", "predicted_exact_where_they_differ": "fovnet is right where they differ",
    "header_exact_where_they_differ": "the header is right where they differ",
}
"""Rates of the header's Body Part Examined, in words."""

MOST_HEADERS = 30
"""Maximum number of rows of `header_rows`."""

NOTHING_SHOWN = "named no region (no doubt of its own)"


def doubts_table(measured: Facts) -> Table:
    """Volumes by doubt, and how many of them and of their slices were wrong."""
    rows = tuple(
        (
            NOTHING_SHOWN if one["code"] == "none" else doubt_in_words(str(one["code"])),
            _share(one["wrong"], one["volumes"]), _share(one["wrong_slices"], one["slices"]),
        )
        for one in _list(measured, "doubts")
    )
    return Table(("doubt", "volumes with wrong regions", "wrong slices"), rows, name="doubts")


def header_rates(measured: Facts) -> Table:
    """How often the header's Body Part Examined agrees with the truth and with fovnet, one row per rate."""
    found = {one["name"]: Measure(**one) for one in _list(measured.get("headers") or {}, "rates")}
    rows = tuple((words, shown(found[name])) for name, words in HEADERS.items() if name in found)
    return Table(("counted in volumes", "value"), rows, name="header-rates")


def header_rows(measured: Facts, vocabulary: Vocabulary) -> Table:
    """Header, true and predicted regions, the most frequent combinations first."""
    kinds = _list(measured.get("headers") or {}, "rows")[:MOST_HEADERS]
    rows = tuple(
        (str(one["text"]), *(run_of(tuple(one[name]), vocabulary) for name in ("header", "truth", "predicted")), f"{one['volumes']:,}")
        for one in kinds
    )
    return Table(("header", "means", "shows", "predicted", "volumes"), rows, name="headers")


def promise_words(abstention: Facts, risk: Measure | None = None) -> str:
    """The error the confidence threshold was chosen for, whether that holds for new people, and the error on the test split (`risk`)."""
    if not abstention:
        return ""
    stated, subjects = percent(abstention.get("stated_error")), several(int(abstention.get("subjects") or 0), "subject")
    words = f"Answers begin at confidence {float(abstention.get('min_confidence') or 0.0):.2f}, chosen on {subjects} of the validation "
    words += f"split for an error of at most {stated} of the slices answered, on average over people. "
    if abstention.get("promised"):
        words += "A test over subjects shows that this holds for new people like them."
    else:
        words += "That was not shown for new people: the subjects are too few, or the errors too many."
    if risk is None or risk.value is None:
        return words
    seen = shown(risk)
    return f"{words} On the test split it is {seen.value} ({seen.interval}, {several(risk.subjects, 'subject')})."


def ablation_view(ablation: Facts) -> AblationView | None:
    """The arms of the ablation, each with its change from the arm before; None without an ablation."""
    steps = _list(ablation, "steps")
    if not steps:
        return None
    names = [name for name in ABLATED if any(one["name"] == name for step in steps for one in step["measures"])]
    rows = tuple((f"{step['ladder']}: {step['arm']}", str(step.get("what") or ""), *_arm(step, names)) for step in steps)
    left = [f"{one['ladder']}: {one['arm']} ({one['why']})" for one in ablation.get("left_out") or ()]
    return AblationView(Table(("step", "what it is", *(ABLATED[name] for name in names)), rows, name="ablation"), "; ".join(left))


def _arm(step: Facts, names: Sequence[str]) -> list[str | Shown]:
    """Each measure with its interval and its change from the arm before."""
    values = {one["name"]: shown(Measure(**one)) for one in step["measures"]}
    gains = {one["measure"]: _gain(one) for one in step.get("gains") or ()}
    return [Shown(values[name].value, values[name].interval, gains.get(name, "")) if name in values else "–" for name in names]


def _gain(one: Facts) -> str:
    """ "change −1.2 (−2.0 to −0.4) points"."""
    length = one["measure"].endswith("_mm") and not one["measure"].startswith("border_within")
    scale, unit = (1.0, "mm") if length else (100.0, "points")
    value, low, high = (None if one[key] is None else f"{one[key] * scale:+.1f}".replace("-", "\N{MINUS SIGN}") for key in
                        ("difference", "low", "high"))
    if low is None or high is None:
        return f"change {value} {unit}" if value is not None else ""
    return f"change {value} ({low} to {high}) {unit}"


def _share(part: int, whole: int) -> Shown:
    return Shown(percent(part / whole) if whole else "–", "", f"{part:,}/{whole:,}")


def _list(facts: Facts, name: str) -> list[Any]:
    return list(facts.get(name) or ())
