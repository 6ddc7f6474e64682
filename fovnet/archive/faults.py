"""What an archive does wrong, each with a stable code.

archive-unreachable  nobody answers, or the connection breaks
archive-certificate  its certificate is not trusted, or names another host
archive-denied       it does not let us in
archive-failed       it answers with an error
archive-answer       it answers what is no DICOM: a page, other types
"""

from __future__ import annotations

from fovnet.errors import FovnetError

STOPPING_CODES = ("archive-unreachable", "archive-certificate", "archive-denied")
"""Codes of what holds for the whole archive; the others are the fault of one answer."""


class ArchiveError(FovnetError):
    """An archive that cannot be asked, or answers wrongly; with the status of HTTP, 0 for none."""

    def __init__(self, code: str, sentence: str, status: int = 0) -> None:
        super().__init__(code, sentence)
        self.status = status

    @property
    def stops_all(self) -> bool:
        """Whether further questions would end alike."""
        return self.code in STOPPING_CODES
