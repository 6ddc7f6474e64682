"""Whether a node that was loaded (`node_load.py`) lost or repeated anything, kept within bounds, and tells in its
metrics what its tables hold.

key  of a series: a hash of its UIDs, of which the node makes its names
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from pydicom import dcmread

from fovnet.node.places import STATES, Places, hash_uids, split_name
from fovnet.records import read_json, read_tsv

CHECK_COLUMNS = ("what", "value", "wanted", "passed")
MEMORY_SAMPLES = 10  # the median of so many, as each has what one answer takes
MOST_GROWTH = 0.05
SLACK_S = 300.0  # from an acknowledgement to the removal, beside --keep: waiting, sweeps, kills

Counts = Mapping[tuple[str, ...], float]


class Check(NamedTuple):
    """A figure, and what it is to be."""

    what: str
    value: object
    wanted: str
    passed: bool


@dataclass(frozen=True)
class Load:
    """The folder of a load: what the senders and the watch noted, the node's folder and the archive's."""

    folder: Path

    @property
    def places(self) -> Places:
        return Places(self.folder / "node")

    def lines(self, name: str) -> list[dict[str, Any]]:
        """What was noted in a file."""
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    @cached_property
    def acknowledged(self) -> list[dict[str, Any]]:
        """Each acknowledgement: when, the image by its UID, and its bytes."""
        return self.lines("acknowledged.jsonl")

    @cached_property
    def answers(self) -> dict[str, list[dict[str, Any]]]:
        """The answers on each series, by its key."""
        answers_by_key: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for path in self.places.answers.glob("*.json"):
            answers_by_key[split_name(path.stem)[0]].append(read_json(path))
        return answers_by_key

    @cached_property
    def rows(self) -> list[dict[str, str]]:
        """Those of answers.tsv."""
        return read_tsv(self.places.folder / "answers.tsv")

    def kept_bytes(self) -> int:
        """What the images take that arrive, wait or are kept; linked ones once."""
        size_by_inode = {}
        for folder in (self.places.incoming, self.places.series):
            for series_folder in folder.iterdir():
                with suppress(FileNotFoundError):  # the node has moved or removed it
                    for path in series_folder.iterdir():
                        status = path.stat()
                        size_by_inode[status.st_ino] = status.st_size
        return sum(size_by_inode.values())


def key_of(image_uid: str) -> str:
    """The key of the series of an image that this load has sent."""
    series_uid, _, _ = image_uid.rpartition(".")
    study_uid, _, _ = series_uid.rpartition(".")
    return hash_uids(study_uid, series_uid)


def check_load(load: Load, metrics: str, series_count: int, keep_hours: float) -> list[Check]:
    """All checks of a load whose last report is delivered."""
    keys = {key_of(row["image"]) for row in load.acknowledged}
    row_count_by_key = Counter(split_name(row["volume_id"])[0] for row in load.rows)
    unlike = keys ^ row_count_by_key.keys()
    several = [key for key, count in row_count_by_key.items() if count > 1]
    return [
        Check("series sent", len(keys), str(series_count), len(keys) == series_count),
        _none("images acknowledged and in no answer", find_lost_images(load)),
        _none("series without a row, or rows without a series", unlike),
        _none("series with several rows", several),
        _none("answers on the same images again", find_repeated_answers(load)),
        _none("series with another number of reports than of answers", find_odd_reports(load)),
        _none("metrics that the tables contradict", find_odd_metrics(load, metrics)),
        *_check_audit(load),
        _check_memory(load),
        *_check_disk(load, keep_hours),
    ]


def _none(what: str, items: Any) -> Check:
    return Check(what, len(items), "0", not items)


def find_lost_images(load: Load) -> set[str]:
    """The images that were acknowledged and that the newest answer on their series does not cover."""
    name_by_image = {row["image"]: f"{hash_uids(row['image'])}.dcm" for row in load.acknowledged}
    record_by_key = {key: load.places.read_record(key) for key in set(map(key_of, name_by_image))}
    return {
        image
        for image, name in name_by_image.items()
        if name not in record_by_key[key_of(image)]["instances"]  # type: ignore[operator]
    }


def find_repeated_answers(load: Load) -> list[str]:
    """The volumes whose answer was made from the same images as an earlier one; a refusal tells of none."""
    repeated_ids = []
    for answers in load.answers.values():
        checksums: set[str] = set()
        for answer in sorted(answers, key=lambda answer: split_name(answer["volume_id"])[1]):
            checksum = answer.get("checksum", answer["volume_id"])
            if checksum in checksums:
                repeated_ids.append(answer["volume_id"])
            checksums.add(checksum)
    return repeated_ids


def find_odd_reports(load: Load) -> list[str]:
    """The keys of series of which the archive has more or fewer reports than there are answers with one."""
    answer_count_by_key = {
        key: sum(answer["status"] != "refused" for answer in answers)
        for key, answers in load.answers.items()
    }
    report_count_by_key: Counter[str] = Counter()
    for path in (load.folder / "archive").iterdir():
        report = dcmread(path, specific_tags=["CurrentRequestedProcedureEvidenceSequence"])
        study = report.CurrentRequestedProcedureEvidenceSequence[0]
        series_uid = study.ReferencedSeriesSequence[0].SeriesInstanceUID
        report_count_by_key[hash_uids(study.StudyInstanceUID, series_uid)] += 1
    return [
        key
        for key in answer_count_by_key.keys() | report_count_by_key.keys()
        if answer_count_by_key.get(key, 0) != report_count_by_key[key]
    ]


def count_tables(load: Load) -> Counts:
    """{(metric, values of its labels): what the tables and folders hold}."""
    counts: Counter[tuple[str, ...]] = Counter()
    for row in load.rows:
        counts["fovnet_answers", row["status"]] += 1
        if row["status"] == "refused":
            counts["fovnet_refused_answers", row["code"]] += 1
        for column, value in row.items():
            if value and f"{column}_probability" in row:
                counts["fovnet_region_answers", value, column] += 1
    counts["fovnet_series", "answered"] = len(
        {split_name(row["volume_id"])[0] for row in load.rows}
    )
    for state in STATES:
        counts["fovnet_reports", state] = len(list(load.places.reports(state).glob("*.dcm")))
    last_start_s = load.lines("starts.jsonl")[-1]["time"]
    counts[("fovnet_images_received_total",)] = sum(
        row["time"] > last_start_s for row in load.acknowledged
    )
    return counts


def read_metrics(text: str) -> Iterator[tuple[tuple[str, ...], float]]:
    """Each (metric, values of its labels by their names) and its value."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = [value for _, value in sorted(sample.labels.items())]
            yield (sample.name, *labels), sample.value


def find_odd_metrics(load: Load, text: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """{metric: (what it tells, what the tables hold)} where these differ."""
    counts = count_tables(load)
    value_by_metric = dict(read_metrics(text))
    return {
        metric: (value_by_metric.get(metric, 0.0), count)
        for metric, count in counts.items()
        if value_by_metric.get(metric, 0.0) != count
    }


def _check_audit(load: Load) -> list[Check]:
    """The images that the audit has as stored; a kill may cost it those of its last seconds."""
    rows = read_tsv(load.places.folder / "audit.tsv")
    done = sum(int(row["objects"]) for row in rows if row["outcome"] == "done")
    share = done / len(load.acknowledged)
    wanted = f"0.99 to 1.01 of {len(load.acknowledged)}"
    return [Check("images in the audit", done, wanted, 0.99 <= share <= 1.01)]


def _check_memory(load: Load) -> Check:
    """The growth of memory from a quarter of the answers of one process to its end: of the one that gave
    the most."""
    samples_by_process: dict[float, list[dict[str, Any]]] = defaultdict(list)
    starts_s = [row["time"] for row in load.lines("starts.jsonl")]
    for sample in load.lines("samples.jsonl"):
        start_s = max(start_s for start_s in starts_s if start_s < sample["time"])
        samples_by_process[start_s].append(sample)
    samples = max(samples_by_process.values(), key=lambda samples: samples[-1].get("answered", 0))
    quarter = samples[-1]["answered"] / 4
    later = [row for row in samples if row.get("answered", 0) >= quarter]
    first_bytes, last_bytes = (
        median(row["resident_bytes"] for row in rows)
        for rows in (later[:MEMORY_SAMPLES], later[-MEMORY_SAMPLES:])
    )
    growth = last_bytes / first_bytes - 1
    value = (
        f"{first_bytes / 1e6:.0f} MB after {quarter:.0f} answers, {last_bytes / 1e6:.0f} after "
        f"{samples[-1]['answered']}, {100 * growth:+.1f} %"
    )
    return Check("memory", value, f"within {100 * MOST_GROWTH:.0f} %", abs(growth) <= MOST_GROWTH)


def _check_disk(load: Load, keep_hours: float) -> list[Check]:
    """Whether no more images lay on the disk than came within --keep hours, SLACK_S and the longest wait
    for an answer."""
    excess = 0
    most = 0
    samples = load.lines("samples.jsonl")
    longest_wait_s = max(sample["oldest_waiting_s"] for sample in samples)
    kept_s = 3600 * keep_hours + SLACK_S + longest_wait_s
    for sample in samples:
        since_s = sample["time"] - kept_s
        recent_bytes = sum(
            row["bytes"] for row in load.acknowledged if since_s < row["time"] <= sample["time"] + 5
        )
        excess += sample["kept_bytes"] > recent_bytes
        most = max(most, sample["kept_bytes"])
    all_bytes = sum(row["bytes"] for row in load.acknowledged)
    return [
        Check("samples with more images on the disk than --keep allows", excess, "0", not excess),
        Check(
            "most bytes of images at once",
            most,
            f"below {all_bytes}, sent in all",
            most < all_bytes,
        ),
    ]
