"""Answers to export, made of a small series and of probabilities that are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fovnet.decision.answer import SPANS_TABLE_COLUMNS, answer_facts, table_rows
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.decision.statements import RegionEnd, Statement, volume_status
from fovnet.records import write_json, write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.slices.stack import Slicing, slice_volume


def body(shape: tuple[int, int, int] = (40, 44, 20)) -> np.ndarray:
    """A flat cone with organs, in a little noise: a stack in disorder would be told by its slices, and a
    round or an empty one doubted."""
    x, y, z = np.meshgrid(*(np.linspace(-1, 1, side) for side in shape), indexing="ij")
    inside = np.hypot(x + 0.3 * z, 1.5 * y) < 0.7 - 0.25 * z
    organs = 600 + 400 * np.sin(8 * x) * np.sin(9 * y + z)
    return (organs * inside + np.random.default_rng(0).integers(0, 60, shape)).astype(np.int16)


def answered(
    folder: Path, source: Path, regions: list[str], name: str = "volume", rule: Rule | None = None
) -> Path:
    """The files of `predict` for a volume whose slices show these regions, from feet to head in equal
    shares."""
    stack = slice_volume(source, Slicing(target_spacing_mm=1.0))
    classes = DEFAULT.classes
    probabilities = np.full((len(stack.z_mm), len(classes)), 0.002)
    for rows, region in zip(
        np.array_split(np.arange(len(stack.z_mm)), len(regions)), regions, strict=True
    ):
        probabilities[rows, classes.index(region)] = 1 - 0.002 * (len(classes) - 1)
    judge = Judge(DEFAULT, rule or Rule(sigma_mm=0.0))
    answer = judge.answer(
        name, str(source), MemberOutputs(probabilities[None].astype(np.float32)), stack, stack.notes
    )
    rows = table_rows(answer, stack)
    write_json(
        folder / f"{name}.json",
        {
            **answer_facts(answer, stack, probabilities, DEFAULT),
            "rows": rows,
            "model": "0123456789abcdef",
        },
    )
    write_tsv(folder / "spans.tsv", SPANS_TABLE_COLUMNS, rows)
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
