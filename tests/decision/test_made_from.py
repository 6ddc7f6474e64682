"""Decisions of a run are those of one ensemble and one rule, or they are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from fovnet.decision.answer import SPANS_TABLE_NAME
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME
from fovnet.decision.made_from import begin_decisions, conclude_decisions, refuse_other_decisions
from fovnet.errors import ModelError
from fovnet.results import Results


def test_decisions_that_were_cut_short_are_no_whole_even_where_the_rule_is_again_what_it_was(
    tmp_path: Path,
) -> None:
    """Decided by one rule, half of it by another before a kill, and the first put back: the stamp of the
    first run would vouch for both."""
    results = Results(tmp_path)
    for path in (
        results.probabilities,
        results.ensemble / FACTS_FILE_NAME,
        results.ensemble / RULE_FILE_NAME,
        results.decisions / "a.json",
        results.decisions / "b.json",
        results.decisions / SPANS_TABLE_NAME,
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    refuse_other_decisions(results)  # of a fovnet that did not record from what
    conclude_decisions(results, {"a"}, settings={}, seed=1)
    refuse_other_decisions(results)
    assert not (results.decisions / "b.json").exists()
    begin_decisions(results)
    assert not (results.decisions / SPANS_TABLE_NAME).exists()
    with pytest.raises(ModelError, match=r"interrupted.*decisions-unfinished"):
        refuse_other_decisions(results)
    conclude_decisions(results, {"a"}, settings={}, seed=1)
    refuse_other_decisions(results)
    (results.ensemble / RULE_FILE_NAME).write_text("another")
    with pytest.raises(ModelError, match="decisions-of-others"):
        refuse_other_decisions(results)


def test_the_first_decisions_cut_short_are_no_whole_either(tmp_path: Path) -> None:
    results = Results(tmp_path)
    begin_decisions(results)
    (results.decisions / "a.json").write_text("{}")  # one of two answers, and then a kill
    with pytest.raises(ModelError, match="decisions-unfinished"):
        refuse_other_decisions(results)
