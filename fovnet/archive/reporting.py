"""Structured reports on the answers of a run, as the node's, until an archive has stored them.

A report is written while the images lie on the disk, before its series counts as answered, and sent
afterwards; what cannot be sent waits, and is in nobody's way.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fovnet.errors import ModelError
from fovnet.node.outbox import Outbox
from fovnet.node.places import DELIVERED, STATES, UNSENT
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer
from fovnet.report.exports.structured import write_report

LAST_PAUSES_S = 5.0, 30.0
"""Before reports that are left at the end are sent again."""


class ReportCourier(Protocol):
    """Who takes reports to an archive."""

    @property
    def trouble(self) -> str:
        """Why reports are not delivered; "" if they are, or none waits."""

    def deliver_due_reports(self) -> bool:
        """Sends the reports that are due; whether there were any."""


@dataclass
class Reporting:
    """The reports of a run.

    name              of the archive that they are sent to
    stored_count      that the archive has stored
    unreported_codes  {code: answers of which no report can be made}
    """

    name: str
    outbox: Outbox
    courier: ReportCourier
    stored_count: int = 0
    unreported_codes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        (self.outbox.places.folder / "reports").mkdir(parents=True, exist_ok=True, mode=0o700)
        for state in STATES:
            self.outbox.places.reports(state).mkdir(parents=True, exist_ok=True)

    def write(self, answer: StoredAnswer, vocabulary: Vocabulary) -> None:
        """Writes the report of an answer, unless it was refused."""
        if answer.status == "refused":
            return
        try:
            write_report(answer, vocabulary, self.outbox.places.reports(UNSENT))
        except ModelError as fault:
            self.unreported_codes[fault.code] += 1

    def deliver(self) -> None:
        """Sends what is due; what is stored is removed, as it names a patient."""
        while self.courier.deliver_due_reports():
            pass
        for path in self.outbox.places.reports(DELIVERED).glob("*.dcm"):
            path.unlink()
            self.stored_count += 1

    def finish(self, pauses_s: Sequence[float] = LAST_PAUSES_S) -> str:
        """Sends what is left, and waits for an archive that is away; why it has not stored all, ""
        where it has."""
        for pause_s in (0.0, *pauses_s):
            if self.outbox.is_empty:
                return ""
            time.sleep(pause_s)
            self.deliver()
        return self.courier.trouble

    @property
    def unsent_count(self) -> int:
        """Reports that wait."""
        return sum(1 for _ in self.outbox.places.reports(UNSENT).glob("*.dcm"))
