"""What callers are refused, and why: one line in the log for each caller and cause, and again when
it has happened ten, a hundred, a thousand times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock

from fovnet.watch.audit import Audit
from fovnet.watch.figures import Figures
from fovnet.watch.log import Log

MOST_PAIRS_NAMED = 1000  # pairs of a caller and a cause that the log names


@dataclass
class Refusals:
    """Counts refusals, and logs them.

    log                 takes an event
    audit               has a row whenever the log has a line; None: there is none
    _count_by_sentence  how often each caller was refused for each cause
    """

    figures: Figures
    log: Log
    audit: Audit | None = None
    _count_by_sentence: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def tell(self, figure: str, caller: str, cause: str) -> None:
        """Counts a refusal under a figure, and says who did what, without patient data."""
        self.figures.count(figure)
        sentence = f"{caller} {cause}"
        with self._lock:
            if (
                sentence not in self._count_by_sentence
                and len(self._count_by_sentence) >= MOST_PAIRS_NAMED
            ):
                sentence = "other callers, counted and not named"
            self._count_by_sentence[sentence] += 1
            refusal_count = self._count_by_sentence[sentence]
        if str(refusal_count).strip("0") != "1":
            return
        times_in_words = ""
        if refusal_count > 1:
            times_in_words = f" ({refusal_count:,} times by now)"
        self.log(
            "caller-refused",
            f"refused: {sentence}{times_in_words}",
            caller=caller,
            cause=figure,
            times=refusal_count,
        )
        if self.audit is not None:
            self.audit.write(caller, {("association", f"refused: {figure}"): refusal_count})
