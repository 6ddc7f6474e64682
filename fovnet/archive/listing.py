"""All studies of a span of time, of an archive that may limit its answers without saying so.

Orthanc 1.10 with LimitFindStudies gives one study more than the limit, status 200, no warning.  So
each answer is compared with those on its halves: where these bring a study that the whole did not,
the archive limits its answers, and each half is asked for its own halves, down to an hour.  Where
they bring none, the half with the most studies is gone into alone.  An archive of ten years that
limits nothing is asked some 35 questions more.  Not noticed is a silent limit on a span whose studies
all lie in one hour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fovnet.archive.claims import Archive, Claims
from fovnet.archive.spans import Span

StudyKey = tuple[str, str]
"""Patient and study: one UID may be in use for two patients."""


@dataclass
class StudyListing:
    """The studies of a span that have a series of a modality.

    sends_modality  whether the archive is asked for it; Orthanc then lists one patient of a UID that
                    is in use for two
    study_by_key       each once, whatever the archive gives twice
    repeats        studies that one answer gave twice
    strangers      studies that were not asked for: outside the span, or of other modalities
    nameless_count  matches without a Study Instance UID
    limit          the fewest studies of an answer that was not all; None: all were
    unsure_spans   hours of which not all studies may be listed
    """

    archive: Archive
    modality: str
    sends_modality: bool = True
    study_by_key: dict[StudyKey, Claims] = field(default_factory=dict)
    repeats: set[StudyKey] = field(default_factory=set)
    strangers: set[StudyKey] = field(default_factory=set)
    nameless_count: int = 0
    limit: int | None = None
    unsure_spans: list[Span] = field(default_factory=list)
    _full_hours: list[tuple[Span, int]] = field(default_factory=list)

    def list_span(self, span: Span) -> None:
        """Lists a span."""
        self._confirm(span, self._ask(span))
        self._note_unsure_hours()

    def list_all(self, widest_span: Span) -> None:
        """Lists all studies, those without a date too, and compares with those of a wide span."""
        self._ask(None)
        self.list_span(widest_span)

    def _ask(self, span: Span | None) -> _Count:
        """Adds the studies of one answer."""
        sent_modality = ""
        if self.sends_modality:
            sent_modality = self.modality
        answer = self.archive.find_studies(span, sent_modality)
        new_count = 0
        keys_in_answer: set[StudyKey] = set()
        for study in answer.matches:
            study_key = study["PatientID"], study["StudyInstanceUID"]
            if not study["StudyInstanceUID"]:
                self.nameless_count += 1
            elif not self._is_wanted(study, span):
                self.strangers.add(study_key)
            elif study_key in keys_in_answer:
                self.repeats.add(study_key)
            else:
                keys_in_answer.add(study_key)
                new_count += study_key not in self.study_by_key
                self.study_by_key.setdefault(study_key, study)
        return _Count(len(answer.matches), new_count, answer.is_complete)

    def _is_wanted(self, study: Claims, span: Span | None) -> bool:
        """Whether a study is one that was asked for: archives ignore keys that they do not know."""
        modalities = study["ModalitiesInStudy"].split("\\")
        if study["ModalitiesInStudy"] and self.modality not in modalities:
            return False
        if span is None or not study["StudyDate"]:
            return True
        return span.holds_date(study["StudyDate"].replace(".", ""))  # ACR-NEMA: 2026.01.31

    def _confirm(self, span: Span, count: _Count) -> None:
        """Asks for the halves of a span of which an answer gave so many studies."""
        if count.match_count < 2 and count.is_complete:
            return
        halves = span.halves()
        if halves is None:
            self._full_hours.append((span, count.match_count))
            if not count.is_complete:
                self.limit = min(count.match_count, self.limit or count.match_count)
            return
        half_counts = [self._ask(half) for half in halves]
        has_more = any(half_count.new_count for half_count in half_counts)
        if has_more or not count.is_complete:
            self.limit = min(count.match_count, self.limit or count.match_count)
            for half, half_count in zip(halves, half_counts, strict=True):
                self._confirm(half, half_count)
            return
        fullest = max((0, 1), key=lambda index: half_counts[index].match_count)
        self._confirm(halves[fullest], half_counts[fullest])

    def _note_unsure_hours(self) -> None:
        """Notes the hours whose answer was as long as one that was not all."""
        limit = self.limit
        if limit is not None:
            self.unsure_spans += [span for span, count in self._full_hours if count >= limit]
        self._full_hours.clear()


@dataclass(frozen=True)
class _Count:
    """Of one answer: its studies, how many of them were new, and whether the archive says that
    these are all."""

    match_count: int
    new_count: int
    is_complete: bool
