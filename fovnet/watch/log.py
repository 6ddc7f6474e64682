"""What a service tells while it is at work: a line an event, in words or as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Protocol


class Log(Protocol):
    """Takes an event: its name, which is stable, a sentence, and facts, none about the patient.

    The fact `series` is the name of a series at the service.
    """

    def __call__(self, event: str, sentence: str, **facts: object) -> None: ...


def write_nothing(event: str, sentence: str, **facts: object) -> None:
    """The log of who wants none."""


def json_line(event: str, sentence: str, **facts: object) -> str:
    """An event as one line of JSON, with the time in UTC; what JSON has no type for, as text."""
    time_text = datetime.now(UTC).isoformat(timespec="milliseconds")
    line_facts = {"time": time_text, "event": event, "message": sentence, **facts}
    return json.dumps(line_facts, default=str)
