"""The content of the report, made from numbers, in reading order; nothing is drawn here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from fovnet.decision.rule import MEANINGS
from fovnet.evaluate.cases import Case, check_splits
from fovnet.evaluate.evaluation import COLLECTION, Evaluation
from fovnet.evaluate.groups import ALL_BORDERS, Group
from fovnet.evaluate.guards import SIMULATED
from fovnet.evaluate.measures import FEWEST_SUBJECTS
from fovnet.evaluate.writing import facts as measured_facts
from fovnet.report.content.checklists import SECTIONS, checklists
from fovnet.report.content.explained import explained_view
from fovnet.report.content.failures import failures_view
from fovnet.report.content.flow import flow_table, flow_view, refused_table
from fovnet.report.content.further import ablation_view, doubts_table, header_rates, header_rows, promise_words
from fovnet.report.content.inputs import inputs_sentence, inputs_table, refusals
from fovnet.report.content.method import method_words, predictors
from fovnet.report.content.page import Headline, Page, Shown, Table
from fovnet.report.content.people import people_table
from fovnet.report.content.performance import (
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
from fovnet.report.content.pictures import chosen_pictures
from fovnet.report.content.published import published_table
from fovnet.report.content.reference import convention_table, labels_table, reference_words
from fovnet.report.content.risk import risk_view
from fovnet.report.content.run_record import Pictured, RunRecord
from fovnet.report.content.running import running_table
from fovnet.report.content.search import members_table, search_view
from fovnet.report.content.statements import LIMITS, NOT_FOR, REFERENCES, STATED, USE
from fovnet.report.content.wording import setting, shown
from fovnet.search.explaining import Explanation
from fovnet.words import several


def gather(evaluation: Evaluation, cases: Sequence[Case], run: RunRecord, title: str, pictured: Pictured) -> Page:
    """Everything the report shows, as text.  Raises CollectionError "evaluate-split-leak" for a subject in two splits."""
    check_splits(run.manifest)
    explanation = None if run.begun_with else run.explanation
    ablated = ablation_view(run.ablation)
    places = {*SECTIONS} - {name for name, view in (("explained", explanation), ("ablation", ablated)) if view is None}
    return Page(
        title=title,
        **_result(evaluation, simulates=run.simulates),
        **_went_in(evaluation, cases, run),
        **_measured(evaluation),
        **_trusted(evaluation, run.abstention),
        ablation=ablated,
        **_seen(evaluation, cases if pictured.gallery else (), pictured),
        **_searched(run, explanation),
        **_made_from(run),
        **_closing(evaluation, places, run),
    )


def _result(evaluation: Evaluation, *, simulates: bool) -> dict[str, Any]:
    """The results and the intended use; `simulates`: whether the subjects of the collection phantom are simulated."""
    simulated = {SIMULATED} if simulates else set()
    return {
        "vocabulary": evaluation.vocabulary, "sentence": _answer(evaluation, simulated),
        "by_collection": _by_collection(evaluation, simulated),
        "headlines": _headlines(evaluation.everything), "use": USE, "not_for": NOT_FOR,
    }


def _went_in(evaluation: Evaluation, cases: Sequence[Case], run: RunRecord) -> dict[str, Any]:
    """The input volumes, the subjects of each split, and the reference standard."""
    manifest, flow = run.manifest, flow_view(run.manifest, sum(row.status == "uncertain" for row in evaluation.volumes))
    return {
        "inputs_sentence": inputs_sentence(manifest), "inputs": inputs_table(manifest), "flow": flow, "flow_table": flow_table(flow),
        "refused": refused_table(manifest), "people": people_table(manifest), "reference": reference_words(evaluation.vocabulary),
        "convention": convention_table(evaluation.vocabulary), "labels": labels_table(run.labels, evaluation.vocabulary),
        "refusals": refusals(cases, manifest),
    }


def _measured(evaluation: Evaluation) -> dict[str, Any]:
    """Results by slice, border, volume and subgroup."""
    return {
        "confusion": confusion_view(evaluation), "regions": regions_table(evaluation), "stages": stages_table(evaluation),
        "borders": borders_table(evaluation), "border_dots": border_dots(evaluation), "handling": handling_table(evaluation),
        "volumes": volumes_table(evaluation), "subgroups": subgroups_table(evaluation),
        "too_few": tuple(group.name for group in evaluation.subgroups if group.too_few and group.volumes),
    }


def _trusted(evaluation: Evaluation, abstention: Mapping[str, Any]) -> dict[str, Any]:
    """Calibration, risk against coverage, doubts, and the header's Body Part Examined."""
    measured = measured_facts(evaluation)
    return {
        "reliability": reliability_view(evaluation), "risk": risk_view(evaluation),
        "promise": promise_words(abstention, evaluation.answered_risk),
        "doubts": doubts_table(measured), "header_rates": header_rates(measured), "headers": header_rows(measured, evaluation.vocabulary),
    }


def _seen(evaluation: Evaluation, cases: Sequence[Case], pictured: Pictured) -> dict[str, Any]:
    """Failures and chosen volumes, with their pictures where there are cases."""
    return {
        "failures": failures_view(evaluation, cases, pictured.failures, faces=pictured.faces), "gallery": pictured.gallery,
        "faces": pictured.faces, "pictures": chosen_pictures(evaluation, cases, faces=pictured.faces),
    }


def _lacking(members: int, configuration: Mapping[str, Any]) -> str:
    """Why there are fewer members than requested; "" if there are not."""
    wanted = configuration.get("ensemble", {}).get("members", members)
    if members >= wanted:
        return ""
    return f"{several(members, 'member')} of {wanted} asked for: no more trials went to their end and did better than guessing."


def _searched(run: RunRecord, explanation: Explanation | None) -> dict[str, Any]:
    """The search, the resulting ensemble, its decision rule, and the computing cost."""
    return {
        "search": search_view(run.trials, run.begun_with), "explained": None if explanation is None else explained_view(explanation),
        "members": members_table(run.members), "members_lacking": _lacking(len(run.members), run.configuration),
        "decision": _decision(run.decision), "running": running_table(run.trials),
    }


def _made_from(run: RunRecord) -> dict[str, Any]:
    """Versions, hashes and the complete configuration."""
    versions = (*((name, setting(value)) for name, value in run.versions.items()), ("seed", str(run.seed)))
    plain = json.loads(json.dumps(run.configuration, default=str))
    return {
        "versions": Table(("what", "value"), versions, name="versions"),
        "hashes": Table(("what", "SHA-256"), tuple(run.hashes.items()), name="hashes"),
        "configuration": yaml.safe_dump(plain, sort_keys=False, allow_unicode=True),
    }


def _closing(evaluation: Evaluation, places: Collection[str], run: RunRecord) -> dict[str, Any]:
    """The method, how intervals were computed, the limitations, and the reporting guidelines."""
    lists = checklists(places, predictors(run.configuration, run.decision), updated=bool(run.begun_with))
    return {
        "method": method_words(run.configuration, run.decision),
        "intervals": _intervals(evaluation), "published": published_table(evaluation.vocabulary), "limits": LIMITS,
        "references": REFERENCES, "stated": STATED, "checklists": lists,
    }


def _answer(evaluation: Evaluation, simulated: Collection[str]) -> str:
    """The result in two to four sentences, one of them on regions predicted beside a spine if these change the error."""
    whole = evaluation.everything
    raw, decided = (shown(whole.find("slice_error", stage)) for stage in ("raw", "decided"))
    beside = whole.find("slice_error_any_label", "decided")
    exact, border = whole.find("exact_set", "decided"), whole.find("border_abs_mean_mm", "decided", ALL_BORDERS)
    volumes = several(whole.volumes, "labelled test volume")
    people = _people(whole.subjects, {row.collection for row in evaluation.volumes}, simulated)
    words = [
        f"In {volumes} of {people} who took no part in training, fovnet named a wrong region in {decided.value} of "
        f"{whole.slices:,} slices ({_interval(decided)}); the networks alone, before the decision, in {raw.value}."
    ]
    if beside is not None and shown(beside).value != decided.value:
        wrong = f"with all that is predicted beside it, {shown(beside).value} are wrong"
        words.append(f"There a slice with a spine is judged by that alone; {wrong}.")
    if exact is not None and exact.numerator is not None:
        words.append(f"It found exactly the regions shown in {exact.numerator:.0f} of {several(exact.denominator, 'volume')}")
        placed = border is not None and border.value is not None
        words[-1] += f", and placed the borders between them that it found with a mean error of {shown(border).value}." if placed else "."
    uncertain = sum(row.status == "uncertain" for row in evaluation.volumes)
    kept = f"It answered “cannot say” for {several(uncertain, 'volume')}" if uncertain else "It abstained from no volume"
    words.append(f"{kept} and refused {several(whole.refused, 'volume') if whole.refused else 'none'}.")
    return " ".join(words)


def _people(count: int, collections: Collection[str], simulated: Collection[str]) -> str:
    """ "80 simulated people", where all of them are."""
    kind = "simulated " if collections and set(collections) <= set(simulated) else ""
    return several(count, f"{kind}person", f"{kind}people")


def _by_collection(evaluation: Evaluation, simulated: Collection[str]) -> str:
    """Slice error by collection, so that simulated and real subjects are not pooled in one number."""
    groups = [group for group in evaluation.subgroups if group.attribute == COLLECTION and group.volumes]
    if len(groups) == 1:
        made = ", which is simulated" if groups[0].value in simulated else ""
        return f"All of these volumes belong to the collection {groups[0].value}{made}."
    words = []
    for group in groups:
        error = shown(group.find("slice_error", "decided"))
        few = f", {several(group.subjects, 'person', 'people')}: too few" if group.too_few else ""
        made = " (simulated)" if group.value in simulated else ""
        words.append(f"{group.value}{made} {error.value} of {several(group.slices, 'slice')} ({error.interval}{few})")
    return f"Wrong slices by collection: {'; '.join(words)}."


def _interval(number: Shown) -> str:
    return f"95 % interval {number.interval}" if "–" in number.interval else number.interval


def _headlines(whole: Group) -> tuple[Headline, ...]:
    raw = shown(whole.find("slice_error", "raw"))
    return (
        Headline("slices given a wrong region", shown(whole.find("slice_error", "decided")), raw.value),
        Headline("volumes with exactly the right regions", shown(whole.find("exact_set", "decided"))),
        Headline("mean distance of a found border from the true one", shown(whole.find("border_abs_mean_mm", "decided", ALL_BORDERS))),
    )


def _decision(rule: Mapping[str, Any]) -> Table:
    rows = tuple((name.replace("_", " "), MEANINGS.get(name, ""), setting(value)) for name, value in rule.items())
    return Table(("setting", "what it is", "value"), rows, name="decision")


def _intervals(evaluation: Evaluation) -> str:
    kinds = Counter(one.interval for one in (*evaluation.handling, *(one for group in evaluation.groups for one in group.measures)))
    used = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return (
        f"Intervals are 95 %. They resample subjects ({evaluation.bootstrap:,} times, seed {evaluation.seed}), so that slices and "
        "volumes of one person travel together. Where each subject gives at most one observation they are Wilson’s; at 0 % and at "
        f"100 % they are Wilson’s over subjects. A subgroup of fewer than {FEWEST_SUBJECTS} subjects is marked “too few”, and one "
        f"subject gives no interval. In this report: {used}."
    )
