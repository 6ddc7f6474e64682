"""Answers to export, made of a small series and of probabilities that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fovnet.decision.answer import answer_facts, span_columns, table_rows
from fovnet.decision.answers_table import TableRows, write_answers
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.decision.statements import RegionEnd, Statement, volume_status
from fovnet.evaluate.cases import StoredSpan
from fovnet.records import write_json, write_tsv
from fovnet.regions import DEFAULT, NINE, WHOLE_BY_PART, Vocabulary
from fovnet.volume.slices.stack import Slicing, slice_volume


def body(shape: tuple[int, int, int] = (40, 44, 20)) -> np.ndarray:
    """A flat cone with organs, in a little noise: a stack in disorder would be told by its slices, and a
    round or an empty one doubted."""
    x, y, z = np.meshgrid(*(np.linspace(-1, 1, side) for side in shape), indexing="ij")
    inside = np.hypot(x + 0.3 * z, 1.5 * y) < 0.7 - 0.25 * z
    organs = 600 + 400 * np.sin(8 * x) * np.sin(9 * y + z)
    return (organs * inside + np.random.default_rng(0).integers(0, 60, shape)).astype(np.int16)


def answered(
    folder: Path,
    source: Path,
    regions: Sequence[str],
    name: str = "volume",
    rule: Rule | None = None,
    vocabulary: Vocabulary = DEFAULT,
    certainty: float = 1.0,
    with_parts: bool = True,
) -> Path:
    """The files of `predict` for a volume whose slices show these regions, from feet to head in equal
    shares, by networks with the classes of a vocabulary; the parts of regions are told unless
    `with_parts` is False."""
    stack = slice_volume(source, Slicing(target_spacing_mm=1.0))
    classes = vocabulary.classes
    shares = np.full((len(stack.z_mm), len(classes)), (1 - certainty) / len(classes) + 0.002)
    for rows, region in zip(
        np.array_split(np.arange(len(stack.z_mm)), len(regions)), regions, strict=True
    ):
        shares[rows, classes.index(region)] += 1 - shares[rows].sum(axis=1)
    rule = rule or Rule(sigma_mm=0.0)
    part_rules = dict.fromkeys(vocabulary.parts, rule) if with_parts else {}
    judge = Judge(DEFAULT, rule, network_vocabulary=vocabulary, part_rules=part_rules)
    outputs = MemberOutputs.of_classes(shares[None].astype(np.float32), vocabulary)
    answer = judge.answer(name, str(source), outputs, stack, stack.notes)
    rows = table_rows(answer, stack)
    raw = judge.mean_probabilities(outputs)
    facts = {
        **answer_facts(answer, stack, raw, DEFAULT),
        "rows": rows,
        "model": "0123456789abcdef",
    }
    write_json(folder / f"{name}.json", facts)
    part_names = vocabulary.part_names if with_parts else ()
    write_tsv(folder / "spans.tsv", span_columns(part_names), rows)
    write_answers(folder, DEFAULT.classes[:-1], [TableRows.from_facts(facts)], part_names)
    return folder


def said(answer, shown, possible=(), extents=True):
    """The same answer, given region by region: these regions yes, `possible` unsure, the others no."""
    made = []
    for region in DEFAULT.classes[:-1]:
        words = "yes" if region in shown else "unsure" if region in possible else "no"
        chance = {"yes": 0.97, "unsure": 0.6, "no": 0.02}[words]
        span = next((one for one in answer.spans if one.region == region), None)
        ends = (RegionEnd(span.from_mm), RegionEnd(span.to_mm)) if span else (None, None)
        made.append(Statement(region, words, chance, (), *ends))
    return replace(
        answer, statements=tuple(made), status=volume_status(made), are_extents_sure=extents
    )


def said_in_parts(answer, shown, possible=()):
    """The same answer on these regions and parts, a slice of each from feet to head: `shown` yes,
    `possible` unsure, the others no; a region of which a part is shown is shown."""
    names = [name for name in NINE.chain if name in (*shown, *possible)]
    spans = [
        StoredSpan(name, 20.0 * number, 20.0 * (number + 1), number, number, 0.97)
        for number, name in enumerate(names)
    ]
    spans_by_region: dict[str, list[StoredSpan]] = {}
    for span in spans:
        spans_by_region.setdefault(WHOLE_BY_PART.get(span.region, span.region), []).append(span)
    region_spans = [
        replace(parts[0], region=region, to_mm=parts[-1].to_mm, last_slice=parts[-1].last_slice)
        for region, parts in spans_by_region.items()
    ]
    word_by_name = dict.fromkeys(shown, "yes") | dict.fromkeys(possible, "unsure")
    chances = {"yes": 0.97, "unsure": 0.6, "no": 0.02}
    parts = []
    for part in NINE.part_names:
        word = word_by_name.get(part, "no")
        ends = [
            (RegionEnd(span.from_mm), RegionEnd(span.to_mm))
            for span in spans
            if span.region == part
        ]
        parts.append(Statement(part, word, chances[word], (), *(ends or [(None, None)])[0]))
    whole = replace(
        answer,
        spans=tuple(region_spans),
        status="ok",
        message="",
        parts=tuple(parts),
        part_spans=tuple(span for span in spans if span.region in WHOLE_BY_PART),
    )
    return said(whole, [WHOLE_BY_PART.get(name, name) for name in shown])
