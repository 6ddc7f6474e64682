"""The log as JSON, and the audit: a line an event, whatever is in it."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fovnet.records import read_tsv
from fovnet.watch.audit import AUDIT_COLUMNS, Audit
from fovnet.watch.log import json_line

NODE = Path(__file__).parents[2] / "fovnet" / "node"


@given(st.text(), st.text())
def test_an_event_is_one_line_that_reads_back(sentence: str, fact: str) -> None:
    line = json_line("series-answered", sentence, series=fact, count=3)
    assert len(line.splitlines()) == 1
    told = json.loads(line)
    assert told.pop("time").endswith("+00:00")
    expected = {"event": "series-answered", "message": sentence, "series": fact, "count": 3}
    assert told == expected


def test_the_events_of_a_node_are_those_of_its_readme() -> None:
    """A name in a program that watches the log is a promise."""
    events = {
        str(ast.literal_eval(call.args[0]))
        for path in NODE.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("log", "self.log")
    }
    paragraph = re.search(r"Events: (.*?)\. ", (NODE / "README.md").read_text(), re.DOTALL)
    assert paragraph and events == set(re.findall(r"`([\w-]+)`", paragraph[1]))


def test_rows_go_on_where_the_file_was_moved_away_or_cannot_be_written(tmp_path) -> None:
    """An AE title that a spreadsheet would compute is text."""
    audit = Audit(tmp_path / "audit.tsv")
    audit.write("'=1+1' at 10.1.2.3", {("C-STORE", "done"): 24, ("C-STORE", "refused"): 1})
    audit.path.rename(tmp_path / "old.tsv")
    audit.write("=1+1\tx\ny", {("C-STORE", "done"): 1})
    rows = [*read_tsv(tmp_path / "old.tsv"), *read_tsv(audit.path)]
    assert [row["objects"] for row in rows] == ["24", "1", "1"]
    assert all(tuple(row) == AUDIT_COLUMNS for row in rows) and not audit.trouble
    assert rows[2]["who"].split() == ["=1+1", "x", "y"]
    audit.path.unlink()
    audit.path.mkdir()
    audit.write("SCANNER", {("C-STORE", "done"): 1})
    assert "cannot be written" in audit.trouble
