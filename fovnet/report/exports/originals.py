"""The DICOM objects that an answer was made from, read again from their paths.

Nothing here writes to them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydicom.datadict import keyword_for_tag

from fovnet.decision.earlier_answers import is_unchanged
from fovnet.errors import FovnetError, ModelError
from fovnet.report.exports.answers import StoredAnswer
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.header import read_whole_header, without_warnings
from fovnet.volume.dicom.reading import images_of
from fovnet.volume.dicom.source import DicomObject
from fovnet.volume.sources.source import source_of
from fovnet.volume.volume import Images

# the character set with the characters of any source and any region's name: DICOM PS3.3, C.12.1.1.2
UTF_8 = "ISO_IR 192"
REFERENCE_KEYWORDS = (
    "SOPClassUID",
    "StudyInstanceUID",
    "SeriesInstanceUID",
)  # beside the SOP Instance UID
TAG_IN_TEXT = re.compile(r"\(([0-9A-Fa-f]{4}), ?([0-9A-Fa-f]{4})\)")


@dataclass(frozen=True)
class Original:
    """One object: its location, its header without pixels, and the frames that were used (empty for
    a single image)."""

    item: DicomObject
    header: Any
    frames: tuple[int, ...]

    def only(self, images: Images | None) -> Original | None:
        """The same object with its frames among `images`; None if `images` has none of it."""
        if images is None:
            return None
        uids_and_frames = zip(images.uids, images.frames, strict=True)
        frames = tuple(
            sorted(
                {frame for uid, frame in uids_and_frames if uid == str(self.header.SOPInstanceUID)}
            )
        )
        if not frames:
            return None
        return replace(self, frames=() if frames == (0,) else frames)


@without_warnings()
def originals_of(answer: StoredAnswer) -> list[Original]:
    """The objects behind an answer, in the order of its slices.

    Raises ModelError as `images_answered`, "export-unreadable" without permission to read them,
    "export-changed" if they are missing or have changed since, and "export-no-uid" if images lack a
    SOP Instance UID or share one, so that they cannot be referred to.
    """
    objects_by_uid = _objects_by_uid(answer)
    faulty_uids = [
        uid for uid, objects_of_uid in objects_by_uid.items() if not uid or len(objects_of_uid) > 1
    ]
    if faulty_uids:
        fault_verb = "share" if faulty_uids[0] else "lack"
        raise ModelError(
            "export-no-uid",
            f"{answer.path}: images of {answer.volume_id} {fault_verb} a SOP Instance UID, so nothing "
            "can refer to one of them. Give each its own, and predict again.",
        )
    whole_originals = [
        Original(dicom_object, read_whole_header(dicom_object), ())
        for (dicom_object,) in objects_by_uid.values()
    ]
    return [
        original
        for source in whole_originals
        if (original := source.only(answer.images)) is not None
    ]


@without_warnings()
def header_of(answer: StoredAnswer) -> Any:
    """The header of one object behind an answer, whatever its UIDs are.  Raises ModelError as
    `originals_of`, but not "export-no-uid"."""
    return read_whole_header(min(next(iter(_objects_by_uid(answer).values()))))


def _objects_by_uid(answer: StoredAnswer) -> dict[str, set[DicomObject]]:
    """The objects of an answer by their SOP Instance UIDs, in the order of its slices.  Raises
    ModelError if they are not as they were."""
    answered_uids = list(dict.fromkeys(images_answered(answer).uids))
    objects_by_uid: dict[str, set[DicomObject]] = {}
    try:
        for frame in images_of(answer.path):
            objects_by_uid.setdefault(frame.sop_uid, set()).add(frame.item)
        has_same_files = answer.file is None or is_unchanged(source_of(answer.path), answer.file)
    except OSError as fault:
        raise ModelError(
            "export-unreadable",
            f"{answer.path}: {answer.volume_id} was answered from it, but it cannot be read "
            f"({fault.strerror}). Restore its permissions, and export again.",
        ) from fault
    missing_uids = [uid for uid in answered_uids if uid not in objects_by_uid]
    if missing_uids or not has_same_files:
        changed_phrase = (
            f"{len(missing_uids)} of {len(answered_uids)} images" if missing_uids else "the files"
        )
        change_phrase = "are missing" if missing_uids else "have changed since"
        raise ModelError(
            "export-changed",
            f"{answer.path}: {changed_phrase} that {answer.volume_id} was answered from {change_phrase}. Predict "
            "it again.",
        )
    return {uid: objects_by_uid[uid] for uid in answered_uids}


def images_answered(answer: StoredAnswer) -> Images:
    """The images of an answer.  Raises ModelError "export-refused", "export-no-images" if the
    source was not DICOM, "export-elsewhere" if its path is relative and not found from the current
    folder."""
    refuse_unanswered(answer)
    if answer.images is None:
        raise ModelError(
            "export-no-images",
            f"{answer.path}: {answer.volume_id} was not answered from DICOM, so there is nothing "
            "to refer to. Predict from the DICOM series itself.",
        )
    path = split_address(answer.path)[0]
    if not path.is_absolute() and not os.path.exists(path):  # noqa: PTH110  (Path.exists raises where it may not look)
        raise ModelError(
            "export-elsewhere",
            f"{answer.path}: not found from {Path.cwd()}; the path is relative to the folder where "
            "predict ran. Run the command there.",
        )
    return answer.images


def refuse_unanswered(answer: StoredAnswer) -> None:
    """Raises ModelError "export-refused" for a volume that was refused."""
    if answer.status == "refused":
        raise ModelError(
            "export-refused",
            f"{answer.volume_id} was refused, so there is no answer to export: {answer.message}",
        )


@contextmanager
def despite_header(answer: StoredAnswer, problem: str) -> Iterator[None]:
    """Exceptions raised within by unusual header values, whose text may contain a name, become
    ModelError "export-header" with the `problem` of the header, and the attribute if it is
    known."""
    try:
        with without_warnings():
            yield
    except (FovnetError, OSError, MemoryError):
        raise
    except Exception as fault:
        tag_match = TAG_IN_TEXT.search(str(fault))
        attribute_keyword = (
            keyword_for_tag(int("".join(tag_match.groups()), 16)) if tag_match else ""
        )
        raise ModelError(
            "export-header",
            f"{answer.path}: {answer.volume_id} has a header {problem}: {attribute_keyword or 'an attribute'} "
            "is not valid. dciodvfy (Debian: dicom3tools) lists what is wrong; correct the series "
            "in its archive.",
        ) from fault


def refuse_unreferable(answer: StoredAnswer, sources: Sequence[Original]) -> None:
    """Raises ModelError "export-header" if an image lacks a UID by which a report refers to it."""
    for source, attribute_keyword in product(sources, REFERENCE_KEYWORDS):
        if not source.header.get(attribute_keyword):
            raise ModelError(
                "export-header",
                f"{answer.path}: images of {answer.volume_id} lack {attribute_keyword}, so nothing can refer to "
                "them. Give them one, and predict again.",
            )


def say_nothing(note: str) -> None:
    """Tells nobody a note on an export, what was left out of it."""


def image_keys(sources: Sequence[Original]) -> Iterator[str]:
    """What identifies these images: their SOP Instance UIDs and, of multi-frame objects, the frames
    used."""
    for source in sources:
        yield str(source.header.SOPInstanceUID)
        if source.frames:
            yield f"frames {','.join(map(str, source.frames))}"
