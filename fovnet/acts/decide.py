"""The answers on the test split: spans.tsv and one JSON per volume."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.acts.run import Run
from fovnet.decision.answer import SPANS_TABLE_NAME, answer_facts, span_columns, table_rows
from fovnet.decision.answers_table import TableRows, write_answers
from fovnet.decision.folder import ModelFolder
from fovnet.decision.made_from import begin_decisions, conclude_decisions
from fovnet.decision.scored_slices import answer_split
from fovnet.records import write_json, write_tsv


@dataclass(frozen=True)
class Decisions:
    """The table of spans, its rows, and the names of the volumes."""

    spans_table: Path
    span_rows: list[dict[str, Any]]
    volume_ids: frozenset[str]

    @property
    def refused_rows(self) -> list[dict[str, Any]]:
        """The rows of refused volumes."""
        return [row for row in self.span_rows if row["status"] == "refused"]


def decide(run: Run) -> Decisions:
    """The answers of a run's ensemble.  Raises ModelError as `Run.refuse_other_rule`."""
    results = run.results
    decision_settings = run.settings.decision.model_dump()
    seed = run.settings.seed
    pack = run.pack
    run.refuse_other_rule()
    judge = ModelFolder(results.ensemble).judge(vocabulary=run.vocabulary)
    begin_decisions(results)
    span_rows: list[dict[str, Any]] = []
    answer_rows: list[TableRows] = []
    for volume in answer_split(pack, run.scored_slices, "test", judge):
        volume_facts = answer_facts(
            volume.answer, volume.stack, volume.raw_probabilities, run.vocabulary
        )
        volume_rows = table_rows(volume.answer, volume.stack)
        answer_rows.append(TableRows.from_facts(volume_facts | {"rows": volume_rows}))
        span_rows += volume_rows
        decision_file = results.decisions / f"{volume.answer.volume_id}.json"
        write_json(decision_file, volume_facts, settings=decision_settings, seed=seed)
    part_names = run.network_vocabulary.part_names
    if judge.rule.states_regions:
        write_answers(results.decisions, run.vocabulary.classes[:-1], answer_rows, part_names)
    spans_table = write_tsv(
        results.decisions / SPANS_TABLE_NAME, span_columns(part_names), span_rows
    )
    volume_ids = {span_row["volume_id"] for span_row in span_rows}
    conclude_decisions(results, volume_ids, settings=decision_settings, seed=seed)
    return Decisions(spans_table, span_rows, frozenset(volume_ids))
