"""Whether the labels of a volume are of its file as it is now, which another may have replaced
since."""

from __future__ import annotations

import os

from fovnet.errors import FovnetError
from fovnet.label.readings import VolumeRecord
from fovnet.label.starts import LabelItem
from fovnet.volume.dicom.address import split_address
from fovnet.volume.sources.source import source_of


def checksum_if_replaced(item: LabelItem, record: VolumeRecord) -> str:
    """SHA-256 of a volume's file, where its labels are of another one; "" where they are not, or it
    cannot be read.

    A file is read only if it was changed after it was labelled, or another one was predicted: to
    read all of a thousand labelled ones takes minutes.
    """
    read_labels = [
        label for label in record.final_states().values() if label.is_read and label.checksum
    ]
    if not read_labels:
        return ""
    is_another_file_predicted = item.prediction is not None and not all(
        label.is_of_file(item.prediction.checksum) for label in read_labels
    )
    if not is_another_file_predicted and _change_time_s(item) <= min(
        label.time_s for label in read_labels
    ):
        return ""
    try:
        checksum = source_of(item.row.path).checksum
    except (FovnetError, OSError):
        return ""
    return "" if all(label.is_of_file(checksum) for label in read_labels) else checksum


def _change_time_s(item: LabelItem) -> float:
    """When a file of the volume, or the link to it, was last changed or put there, in seconds since
    1970."""
    try:
        linked_s = os.lstat(split_address(item.row.path)[0]).st_ctime
        files = source_of(item.row.path).files
        return max([linked_s, *(os.stat(path).st_ctime for path in files)])  # noqa: PTH116  (see discovery)
    except (FovnetError, OSError):
        return 0.0
