"""The answers on the test split: spans.tsv and one JSON per volume."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.acts.run import Run


@dataclass(frozen=True)
class Decided:
    """The table, its rows, and the names of the volumes."""

    table: Path
    rows: list[dict[str, Any]]
    volumes: frozenset[str]

    @property
    def refused(self) -> list[dict[str, Any]]:
        """The rows of refused volumes."""
        return [row for row in self.rows if row["status"] == "refused"]


def decided(run: Run) -> Decided:
    """The answers of a run's ensemble.  Raises ModelError as `Run.refuse_other_rule`."""
    from fovnet.decision.answer import COLUMNS, TABLE, answer_facts, table_rows
    from fovnet.decision.answers_table import TableRows, write_answers
    from fovnet.decision.folder import ModelFolder
    from fovnet.decision.made_from import begin_decisions, conclude_decisions
    from fovnet.decision.scored_slices import decisions
    from fovnet.records import write_json, write_tsv

    results, pack, seed, options = (
        run.results,
        run.pack,
        run.settings.seed,
        run.settings.decision.model_dump(),
    )
    run.refuse_other_rule()
    rows: list[dict[str, Any]] = []
    said: list[TableRows] = []
    judge = ModelFolder(results.ensemble).judge(vocabulary=run.vocabulary)
    begin_decisions(results)
    for volume in decisions(pack, run.scored, "test", judge):
        answer, stack = volume.answer, volume.stack
        body = answer_facts(answer, stack, volume.raw, run.vocabulary)
        volume_rows = table_rows(answer, stack)
        said.append(TableRows.of(body | {"rows": volume_rows}))
        rows += volume_rows
        path = results.decisions / f"{answer.volume_id}.json"
        write_json(path, body, settings=options, seed=seed)
    if judge.rule.by_region:
        write_answers(results.decisions, run.vocabulary.classes[:-1], said)
    table, volumes = (
        write_tsv(results.decisions / TABLE, COLUMNS, rows),
        {row["volume_id"] for row in rows},
    )
    conclude_decisions(results, volumes, settings=options, seed=seed)
    return Decided(table, rows, frozenset(volumes))
