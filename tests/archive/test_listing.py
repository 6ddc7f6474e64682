"""All studies are listed, whatever the archive limits; spans part time without gap or overlap."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from hypothesis import assume, example, given
from hypothesis import strategies as st

from fovnet.archive.claims import Answer, Claims
from fovnet.archive.listing import StudyListing
from fovnet.archive.spans import LEAST_SPAN, ONE_SECOND, Span

YEAR = Span.of_days(date(2026, 1, 1), date(2026, 12, 31))


class LimitedArchive:
    """Studies at these hours of 2026, of which an answer holds the first `limit`; with `says_so`
    as by C-FIND, else silently, as by QIDO-RS."""

    def __init__(self, hours: list[int], limit: int, says_so: bool) -> None:
        self.limit = limit
        self.says_so = says_so
        self.question_count = 0
        moments = [YEAR.first + timedelta(hours=hour) for hour in hours]
        self.studies: list[Claims] = [
            {
                "PatientID": "P",
                "StudyInstanceUID": f"1.{number}",
                "StudyDate": f"{moment:%Y%m%d}",
                "StudyTime": f"{moment:%H%M%S}",
                "ModalitiesInStudy": "MR",
            }
            for number, moment in enumerate(moments)
        ]

    def find_studies(self, span: Span | None, modality: str) -> Answer:
        self.question_count += 1
        matches = [study for study in self.studies if self._matches(study, span)]
        is_complete = not self.says_so or len(matches) <= self.limit
        return Answer(matches[: self.limit], is_complete)

    def _matches(self, study: Claims, span: Span | None) -> bool:
        if span is None:
            return True
        first_date, _, last_date = span.dates.partition("-")
        if not first_date <= study["StudyDate"] <= (last_date or first_date):
            return False
        first_time, _, last_time = span.times.partition("-")
        return first_time <= study["StudyTime"] <= (last_time or "999999")


@given(
    hours=st.lists(st.integers(0, 365 * 24 - 1), max_size=40),
    limit=st.integers(2, 12),
    says_so=st.booleans(),
)
@example(hours=[5000] * 9, limit=3, says_so=True)
@example(hours=[*range(24)], limit=2, says_so=False)
def test_a_limited_archive_is_listed_whole_or_said_not_to_be(hours, limit, says_so) -> None:
    # a silent limit on studies that all lie in one hour shows in no answer
    assume(says_so or len(set(hours)) != 1)
    archive = LimitedArchive(hours, limit, says_so)
    listing = StudyListing(archive, "MR")
    listing.list_span(YEAR)
    listed_uids = {uid for _, uid in listing.study_by_key}
    for study in archive.studies:
        if study["StudyInstanceUID"] in listed_uids:
            continue
        moment = datetime.strptime(study["StudyDate"] + study["StudyTime"], "%Y%m%d%H%M%S")
        assert any(span.first <= moment <= span.last for span in listing.unsure_spans)
    fullest_hour = max(map(hours.count, hours), default=0)
    if fullest_hour < limit:
        assert len(listed_uids) == len(hours) and not listing.unsure_spans


def test_an_archive_that_limits_nothing_is_asked_little_more() -> None:
    archive = LimitedArchive([*range(0, 8000, 7)], 10**6, says_so=False)
    StudyListing(archive, "MR").list_span(YEAR)
    assert archive.question_count < 35


@given(st.dates(date(1990, 1, 1), date(2030, 1, 1)), st.integers(0, 4000))
def test_halves_of_a_span_are_its_parts(first_day: date, days: int) -> None:
    spans = [Span.of_days(first_day, first_day + timedelta(days=days))]
    while (halves := spans[-1].halves()) is not None:
        assert halves[0].first == spans[-1].first and halves[1].last == spans[-1].last
        assert halves[0].last + ONE_SECOND == halves[1].first
        # date and time are matched each for itself: hours of several days would be cut from each
        assert all(not half.times or "-" not in half.dates for half in halves)
        spans.append(halves[len(spans) % 2])
    assert spans[-1].last + ONE_SECOND - spans[-1].first == LEAST_SPAN
