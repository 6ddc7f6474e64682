"""What callers are refused, and why: one line in the log for each caller and cause, and again when
it has happened ten, a hundred, a thousand times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from fovnet.node.figures import Figures

MOST_PAIRS_NAMED = 1000  # pairs of a caller and a cause that the log names


@dataclass
class Refusals:
    """Counts refusals, and says them."""

    figures: Figures
    say: Callable[[str], None]
    _times: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def tell(self, figure: str, caller: str, cause: str) -> None:
        """Counts a refusal under a figure, and says who did what, without patient data."""
        self.figures.count(figure)
        sentence = f"{caller} {cause}"
        with self._lock:
            if sentence not in self._times and len(self._times) >= MOST_PAIRS_NAMED:
                sentence = "other callers, counted and not named"
            self._times[sentence] += 1
            refusal_count = self._times[sentence]
        if refusal_count == 1:
            self.say(f"refused: {sentence}")
        elif str(refusal_count).strip("0") == "1":
            self.say(f"refused: {sentence} ({refusal_count:,} times by now)")
