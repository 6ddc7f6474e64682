"""Shares of the newest answers against those accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.answers_table import answer_columns
from fovnet.node.table import UID_COLUMNS, read_counted_answers
from fovnet.records import write_tsv
from fovnet.watch.drift import (
    LEAST_VOLUMES,
    NOT_ACCEPTED,
    STANDARD_ERRORS,
    Shares,
    count_kinds,
    describe_drift,
    find_drift,
    read_accepted,
)
from fovnet.watch.tally import RECENT_SERIES, Tally

REGIONS = ("legs", "head")


@given(st.integers(0, 500), st.integers(100, 500), st.integers(0, 500), st.integers(100, 500))
def test_a_share_drifts_where_the_chi_square_of_two_proportions_says_so(
    recent_count: int, recent_total: int, accepted_count: int, accepted_total: int
) -> None:
    recent_count, accepted_count = (
        min(recent_count, recent_total),
        min(accepted_count, accepted_total),
    )
    recent = Shares(recent_total, {"ok": recent_count})
    drifted = find_drift(recent, Shares(accepted_total, {"ok": accepted_count}))
    table = [
        [recent_count, recent_total - recent_count],
        [accepted_count, accepted_total - accepted_count],
    ]
    if 0 in (
        recent_count + accepted_count,
        recent_total + accepted_total - recent_count - accepted_count,
    ):
        assert drifted == []
        return
    statistic = float(chi2_contingency(table, correction=False).statistic)
    if statistic != pytest.approx(STANDARD_ERRORS**2):
        assert (drifted == ["ok"]) is (statistic > STANDARD_ERRORS**2)


def write_answers(folder, statuses: list[tuple[str, str, str]]) -> None:
    """A node's table: of each series its status, its code and the answer on the head."""
    rows = [
        {"volume_id": f"{k:032x}-1", "status": status, "code": code, "head": head, "legs": "no"}
        for k, (status, code, head) in enumerate(statuses)
    ]
    write_tsv(folder / "answers.tsv", (*answer_columns(REGIONS), *UID_COLUMNS), rows)


def shares_of(folder) -> Shares:
    tally = Tally()
    tally.add(read_counted_answers(folder / "answers.tsv"))
    return count_kinds(tally.recent())


def test_what_was_accepted_is_compared_with_the_newest_series_alone(tmp_path) -> None:
    """300 old ones do not count.  Of 500, 40 that look like nothing known are no chance beside 5."""
    command = ["node", "--out", str(tmp_path), "--accept"]
    write_answers(tmp_path, [("ok", "", "yes")] * (LEAST_VOLUMES - 1))
    refused = CliRunner().invoke(app, command)
    assert getattr(refused.exception, "code", "") == "node-accept"
    assert describe_drift(shares_of(tmp_path), read_accepted(tmp_path)) == NOT_ACCEPTED
    unknown, head = ("uncertain", "unlike-training", "unsure"), ("ok", "", "yes")
    write_answers(tmp_path, [unknown] * 300 + [head] * (RECENT_SERIES - 5) + [unknown] * 5)
    assert CliRunner().invoke(app, command).exit_code == 0
    accepted = read_accepted(tmp_path)
    assert accepted is not None and accepted.volume_count == RECENT_SERIES
    assert accepted.count_by_kind == {
        "ok": 495,
        "shows head": 495,
        "uncertain": 5,
        "unlike-training": 5,
        "unsure": 5,
    }
    assert describe_drift(shares_of(tmp_path), accepted) == "answers are as accepted"
    write_answers(tmp_path, [head] * (RECENT_SERIES - 40) + [unknown] * 40)
    line = describe_drift(shares_of(tmp_path), accepted)
    assert "unlike-training 8 % (accepted 1 %)" in line and "legs" not in line
