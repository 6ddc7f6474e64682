"""What an archive is asked for, as words of the command line."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from fovnet.archive.spans import Span
from fovnet.errors import ConfigError

DATE = r"(\d{4})-?(\d\d)-?(\d\d)"
DATES_PATTERN = re.compile(rf"{DATE}(?:(?:-|\.\.){DATE})?")
UID_PATTERN = re.compile(r"[0-9][0-9.]{0,63}")
MODALITY_PATTERN = re.compile(r"[A-Z0-9_ ]{1,16}")


@dataclass(frozen=True)
class Query:
    """What is asked for.

    span         the days of the studies; None: all, those without a date too
    modality     of a series in the study
    description  a pattern of the study description with * and ?, without regard to case; "" for any
    uids         (study, series) UIDs; series "" for all of the study; empty: not by UID
    """

    span: Span | None
    modality: str = "MR"
    description: str = ""
    uids: tuple[tuple[str, str], ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """It as JSON types."""
        dates = ""
        if self.span is not None:
            dates = self.span.dates
        return asdict(self) | {"span": dates, "uids": [list(pair) for pair in self.uids]}

    def has_description(self, description: str) -> bool:
        """Whether a study description is one that was asked for.  It is compared here, and never
        sent: Orthanc takes the escapes of HTTP for letters of the value."""
        if not self.description:
            return True
        pattern = re.escape(self.description.casefold()).replace(r"\*", ".*").replace(r"\?", ".")
        return re.fullmatch(pattern, description.casefold(), re.DOTALL) is not None


def span_of(dates: str) -> Span | None:
    """The span of "20260101", or of a range of two dates; None for "".  Raises ConfigError
    "archive-dates"."""
    if not dates:
        return None
    match = DATES_PATTERN.fullmatch(dates)
    try:
        if match is None:
            raise ValueError
        first_day = date(*map(int, match.group(1, 2, 3)))
        last_day = first_day
        if match[4]:
            last_day = date(*map(int, match.group(4, 5, 6)))
        if last_day < first_day:
            raise ValueError
    except ValueError:
        raise ConfigError(
            "archive-dates",
            f"--dates {dates}: is no day and no range of days; give 20260131 or 20260101-20260131",
        ) from None
    return Span.of_days(first_day, last_day)


def modality_of(text: str) -> str:
    """A modality as DICOM writes it.  Raises ConfigError "archive-modality"."""
    modality = text.strip().upper()
    if not MODALITY_PATTERN.fullmatch(modality):
        raise ConfigError(
            "archive-modality", f"--modality {text!a}: is no modality; give one as in MR"
        )
    return modality


def read_uids(path: Path | None) -> tuple[tuple[str, str], ...]:
    """(study, series) UIDs of a file: a line a study, or a study and one of its series; blank lines
    and lines that begin with # are passed over.  Raises ConfigError "archive-uids"."""
    if path is None:
        return ()
    uid_pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) > 2 or not all(map(UID_PATTERN.fullmatch, words)):
            raise ConfigError(
                "archive-uids",
                f"--uids {path}, line {number}: {line[:80]!a} is no UID; give a line for each study: "
                "its Study Instance UID, and after a blank the Series Instance UID where one series "
                "is meant",
            )
        study_uid, series_uid = (*words, "")[:2]
        uid_pairs[study_uid, series_uid] = None
    if not uid_pairs:
        raise ConfigError("archive-uids", f"--uids {path}: names no study; give a line for each")
    return tuple(uid_pairs)
