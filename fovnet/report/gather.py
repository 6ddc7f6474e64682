"""From numbers to a page: what the report says, in the order in which it is read. Nothing is drawn here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from fovnet.evaluate.cases import Case, check_splits
from fovnet.evaluate.evaluation import COLLECTION, Evaluation
from fovnet.evaluate.groups import ALL_BORDERS, FEWEST_SUBJECTS, Group
from fovnet.evaluate.writing import facts as measured_facts
from fovnet.report.checklists import SECTIONS, checklists
from fovnet.report.explained import explained_view
from fovnet.report.failures import failures_view
from fovnet.report.flow import flow_table, flow_view, refused_table
from fovnet.report.further import ablation_view, doubts_table, header_rates, header_rows, promise_words
from fovnet.report.page import (
    Headline,
    Page,
    Refusal,
    Shown,
    Table,
)
from fovnet.report.people import people_table
from fovnet.report.pictures import chosen_pictures
from fovnet.report.reference import convention_table, labels_table, reference_words
from fovnet.report.results import (
    border_dots,
    borders_table,
    confusion_view,
    handling_table,
    regions_table,
    reliability_view,
    stages_table,
    subgroups_table,
    volumes_table,
)
from fovnet.report.running import running_table
from fovnet.report.searching import members_table, search_view
from fovnet.report.statements import LIMITS, NOT_FOR, REFERENCES, STATED, USE
from fovnet.report.sureness import risk_view
from fovnet.report.wording import setting, several, shown
from fovnet.search.explaining import Explanation


def _percents(*values: int) -> tuple[str, ...]:
    return tuple(f"{value}\N{NO-BREAK SPACE}%" for value in values)


PUBLISHED = Table(
    ("networks", "head", "chest", "abdomen", "pelvis", "legs", "spine", "slice error"),
    (
        ("hand-made baseline", *_percents(96, 57, 88, 81, 81, 94, 14)),
        ("best single network found", *_percents(94, 93, 85, 86, 76, 96, 10)),
    ),
    name="published",
)
"""Sensitivities and slice errors in Bertrand et al., ISBI 2017, on their own data."""


def gather(
    *,
    evaluation: Evaluation,
    cases: Sequence[Case],
    manifest: Sequence[Mapping[str, Any]],
    trials: Sequence[Mapping[str, Any]],
    members: Sequence[Mapping[str, Any]],
    decision: Mapping[str, Any],
    configuration: Mapping[str, Any],
    title: str,
    versions: Mapping[str, Any],
    seed: int,
    hashes: Mapping[str, str] | None = None,
    labels: Mapping[str, tuple[int, ...]] | None = None,
    explanation: Explanation | None = None,
    abstention: Mapping[str, Any] | None = None,
    ablation: Mapping[str, Any] | None = None,
    shown_failures: int = 9,
    gallery: bool = True,
    faces: bool = True,
) -> Page:
    """Everything the report shows, in words.

    manifest  rows of volume_id, subject_id, collection, split, labelled, status, slices, message, and `hashed` where the volume_id
              is no name of a file
    trials    slot, configuration, status, score, seconds, predicted_seconds, epochs, message, device, and `start` where a
              configuration was set by hand (where none is marked, the lowest slot counts as the start)
    members   slot, score, configuration, weights
    hashes    SHA-256 by the name of what was hashed;  labels  labelled slices of each class by split
    explanation  of the search; its section is left out where there is none
    abstention  how the bar for answering was chosen, as decision.json says;  ablation  the facts of evaluation/ablation.json
    shown_failures  at most so many get pictures; without `gallery` none does, and without `faces` heads are covered
    Missing keys and empty lists leave a dash or a sentence, never an error; a subject in two splits raises CollectionError.
    """
    check_splits(manifest)
    whole, vocabulary = evaluation.everything, evaluation.vocabulary
    uncertain = sum(row.status == "uncertain" for row in evaluation.volumes)
    flow = flow_view(manifest, uncertain)
    pictured = cases if gallery else ()
    measured, ablated = measured_facts(evaluation), ablation_view(ablation or {})
    places = {*SECTIONS} - ({"explained"} if explanation is None else set()) - ({"ablation"} if ablated is None else set())
    return Page(
        title=title,
        vocabulary=vocabulary,
        sentence=_answer(evaluation),
        by_collection=_by_collection(evaluation),
        headlines=_headlines(whole),
        use=USE,
        not_for=NOT_FOR,
        inputs_sentence=_inputs_sentence(manifest),
        inputs=_inputs(manifest),
        flow=flow,
        flow_table=flow_table(flow),
        refused=refused_table(manifest),
        people=people_table(manifest),
        reference=reference_words(vocabulary),
        convention=convention_table(vocabulary),
        labels=labels_table(labels or {}, vocabulary),
        refusals=_refusals(cases, manifest),
        confusion=confusion_view(evaluation),
        regions=regions_table(evaluation),
        stages=stages_table(evaluation),
        borders=borders_table(evaluation),
        border_dots=border_dots(evaluation),
        handling=handling_table(evaluation),
        volumes=volumes_table(evaluation),
        subgroups=subgroups_table(evaluation),
        too_few=tuple(group.name for group in evaluation.subgroups if group.too_few and group.volumes),
        reliability=reliability_view(evaluation),
        risk=risk_view(evaluation),
        promise=promise_words(abstention or {}),
        doubts=doubts_table(measured),
        header_rates=header_rates(measured),
        headers=header_rows(measured, vocabulary),
        ablation=ablated,
        failures=failures_view(evaluation, pictured, shown_failures, faces=faces),
        gallery=gallery,
        faces=faces,
        pictures=chosen_pictures(evaluation, pictured, faces=faces),
        search=search_view(trials),
        explained=None if explanation is None else explained_view(explanation),
        members=members_table(members),
        decision=_decision(decision),
        running=running_table(trials),
        published=PUBLISHED,
        versions=Table(
            ("what", "value"), (*((name, setting(value)) for name, value in versions.items()), ("seed", str(seed))), name="versions"
        ),
        hashes=Table(("what", "SHA-256"), tuple((hashes or {}).items()), name="hashes"),
        configuration=yaml.safe_dump(json.loads(json.dumps(configuration, default=str)), sort_keys=False, allow_unicode=True),
        intervals=_intervals(evaluation),
        limits=LIMITS,
        references=REFERENCES,
        stated=STATED,
        checklists=checklists(places),
    )


def _answer(evaluation: Evaluation) -> str:
    """The result in three sentences."""
    whole = evaluation.everything
    raw, decided = (shown(whole.find("slice_error", stage)) for stage in ("raw", "decided"))
    exact, border = whole.find("exact_set", "decided"), whole.find("border_abs_mean_mm", "decided", ALL_BORDERS)
    volumes, people = several(whole.volumes, "labelled test volume"), several(whole.subjects, "person", "people")
    words = [
        f"In {volumes} of {people} who took no part in training, fovnet named a wrong region in {decided.value} of "
        f"{whole.slices:,} slices ({_interval(decided)}); the networks alone, before the decision, in {raw.value}."
    ]
    if exact is not None and exact.numerator is not None:
        words.append(f"It found exactly the regions shown in {exact.numerator:.0f} of {several(exact.denominator, 'volume')}")
        placed = border is not None and border.value is not None
        words[-1] += f", and placed the borders between them that it found with a mean error of {shown(border).value}." if placed else "."
    uncertain = sum(row.status == "uncertain" for row in evaluation.volumes)
    kept = f"It said “cannot say” of {several(uncertain, 'volume')}" if uncertain else "It abstained from no volume"
    words.append(f"{kept} and refused {several(whole.refused, 'unreadable volume') if whole.refused else 'none'}.")
    return " ".join(words)


def _by_collection(evaluation: Evaluation) -> str:
    """The same for each collection, so that simulated bodies and real ones are never read as one number."""
    groups = [group for group in evaluation.subgroups if group.attribute == COLLECTION and group.volumes]
    if len(groups) == 1:
        return f"All of these volumes belong to the collection {groups[0].value}."
    words = []
    for group in groups:
        error = shown(group.find("slice_error", "decided"))
        few = f", {several(group.subjects, 'person', 'people')}: too few" if group.too_few else ""
        words.append(f"{group.value} {error.value} of {several(group.slices, 'slice')} ({error.interval}{few})")
    return f"Wrong slices by collection: {'; '.join(words)}."


def _interval(number: Shown) -> str:
    return f"95 % interval {number.interval}" if "–" in number.interval else number.interval


def _headlines(whole: Group) -> tuple[Headline, ...]:
    raw = shown(whole.find("slice_error", "raw"))
    return (
        Headline("slices given a wrong region", shown(whole.find("slice_error", "decided")), raw.value),
        Headline("volumes with exactly the right regions", shown(whole.find("exact_set", "decided"))),
        Headline("mean error of a border between regions", shown(whole.find("border_abs_mean_mm", "decided", ALL_BORDERS))),
    )


def _inputs(manifest: Sequence[Mapping[str, Any]]) -> Table:
    """One row a collection and split."""
    splits = [split for split in ("train", "validation", "test") if any(row.get("split") == split for row in manifest)]
    splits += sorted({str(row.get("split") or "") for row in manifest} - {*splits, ""})
    rows: list[tuple[str | Shown, ...]] = []
    for collection in sorted({str(row.get("collection") or "") for row in manifest}):
        for split in (*splits, ""):
            here = [r for r in manifest if str(r.get("collection") or "") == collection and str(r.get("split") or "") == split]
            if here:
                rows.append((collection or "–", split or "for prediction only", *_counts(here)))
    return Table(("collection", "split", "subjects", "volumes", "labelled", "slices", "refused"), tuple(rows), name="inputs")


def _counts(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    subjects = len({row.get("subject_id") for row in rows})
    labelled = sum(_true(row.get("labelled")) for row in rows)
    slices = sum(int(row.get("slices") or 0) for row in rows)
    refused = sum(row.get("status") == "refused" for row in rows)
    return tuple(f"{count:,}" for count in (subjects, len(rows), labelled, slices, refused))


def _true(value: Any) -> bool:
    """A flag that may have been through a table: True, "true", "yes", "1"."""
    return str(value).strip().lower() in {"true", "yes", "1"}


def _inputs_sentence(manifest: Sequence[Mapping[str, Any]]) -> str:
    if not manifest:
        return "No list of prepared volumes was handed to this report."
    subjects = len({row.get("subject_id") for row in manifest})
    hashed = " Volumes are named by hashes; slices/manifest.tsv, which stays with the data, tells them (column shown_id)."
    return (
        f"{several(len(manifest), 'volume')} of {several(subjects, 'subject')}. "
        "All volumes of one subject stand in the same split; this was checked."
        f"{hashed if any(row.get('hashed') for row in manifest) else ''}"
    )


def _refusals(cases: Sequence[Case], manifest: Sequence[Mapping[str, Any]]) -> tuple[Refusal, ...]:
    """Every refused volume once, with its sentence."""
    sentences = {str(row.get("volume_id")): str(row.get("message") or "") for row in manifest if row.get("status") == "refused"}
    sentences |= {case.volume_id: case.message for case in cases if case.status == "refused"}
    return tuple(Refusal(volume_id, sentence or "no reason was recorded") for volume_id, sentence in sorted(sentences.items()))


def _decision(rule: Mapping[str, Any]) -> Table:
    rows = tuple((name.replace("_", " "), setting(value)) for name, value in rule.items())
    return Table(("setting", "value"), rows, name="decision")


def _intervals(evaluation: Evaluation) -> str:
    kinds = Counter(one.interval for group in evaluation.groups for one in group.measures)
    used = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return (
        f"Intervals are 95 %. They resample subjects ({evaluation.bootstrap:,} times, seed {evaluation.seed}), so that slices and "
        "volumes of one person travel together. Where each subject gives at most one observation they are Wilson’s; at 0 % and at "
        f"100 % they are Wilson’s over subjects. A subgroup of fewer than {FEWEST_SUBJECTS} subjects is marked “too few”, and one "
        f"subject gives no interval. In this report: {used}."
    )
