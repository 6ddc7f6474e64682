"""The report of 2,000 volumes: under 15 MB, and made in under two minutes.  FOVNET_LARGE=1 runs it; it takes
about a minute."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from fovnet.decision.rule import Rule
from fovnet.evaluate.evaluation import evaluate
from fovnet.regions import DEFAULT
from fovnet.report.content.page import gather_page
from fovnet.report.content.run_record import RunRecord
from fovnet.report.pages.facts import write_facts
from fovnet.report.pages.pour import write_report

VOLUMES, SUBJECTS = 2000, 700
MOST_BYTES, MOST_SECONDS = 15e6, 120.0


def study(planted, volumes=VOLUMES, subjects=SUBJECTS):
    """Volumes of all kinds, each of a subject and a site; one in ten answered wrongly, one in fifty refused;
    all share their pixels."""
    rng = np.random.default_rng(11)
    stock = [
        planted.whole_body(
            rng,
            f"stock-{number}",
            first=number % 3,
            last=number % 3 + 2,
            spacing_mm=8.0,
            pictured=True,
            flicker=0.02 + 0.3 * (number % 10 == 9),
            shift=0.5 + 5.0 * (number % 10 == 9),
        )
        for number in range(40)
    ]
    cases = []
    for number in range(volumes):
        subject = f"subject-{number % subjects:04d}"
        attributes = {
            "site": f"site {number % subjects % 12}",
            "sex": "female" if number % subjects % 2 else "male",
        }
        attributes |= {
            "age": str(18 + number % subjects % 70),
            "maker": f"maker {number % 4}",
            "sequence": f"sequence {number % 15}",
        }
        if number % 50 == 0:
            cases.append(
                planted.refused(
                    f"volume-{number:05d}", "no volume: the file ends early.", subject_id=subject
                )
            )
            continue
        case = stock[int(rng.integers(len(stock)))]
        raw = 0.9 * case.raw_probabilities + 0.1 * rng.dirichlet(
            np.ones(case.raw_probabilities.shape[1]), len(case.raw_probabilities)
        )
        named = {
            "volume_id": f"volume-{number:05d}",
            "subject_id": subject,
            "collection": f"collection {number % 3}",
        }
        status = "uncertain" if rng.random() < 0.05 else "ok"
        sure = case.slice_confidence * rng.uniform(0.8, 1.0)
        cases.append(
            replace(
                case,
                raw_probabilities=raw,
                slice_confidence=sure,
                status=status,
                attributes=attributes,
                **named,
            )
        )
    return cases


@pytest.mark.slow
@pytest.mark.skipif(
    "FOVNET_LARGE" not in os.environ, reason="FOVNET_LARGE=1 makes the report of 2,000 volumes"
)
def test_a_report_of_two_thousand_volumes_is_small_and_quick(planted, planted_search, tmp_path):
    from .conftest import manifest_of, search_trials, settings_of

    cases = study(planted)
    began = time.perf_counter()
    evaluation = evaluate(cases, DEFAULT, bootstrap=1000, seed=1)
    evaluated = time.perf_counter()
    record = RunRecord(
        settings=settings_of({"report": {"title": "Two thousand volumes", "volumes_shown": 60}}),
        manifest=manifest_of(cases),
        trials=search_trials(300),
        members=[],
        rule=Rule(),
        explanation=planted_search.explanation(),
    )
    page = gather_page(evaluation, cases, record)
    path = write_report(tmp_path / "report.html", page)
    written = write_facts(path, page, evaluation, settings={}, seed=1)
    seconds = time.perf_counter() - began
    sizes = {one.name: one.stat().st_size for one in (path, *written)}
    measured = f"{seconds:.0f} s, {evaluated - began:.0f} of them evaluating; {sizes}"
    assert sizes["report.html"] < MOST_BYTES and seconds < MOST_SECONDS, measured
    assert (
        len(page.performance.volumes.rows) == VOLUMES
        and 0 < len(page.cases.failures.pictured_failures) <= 60
    )
