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
from typing import Any, NoReturn

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
# beside the SOP Instance UID
REFERENCE_KEYWORDS = ("SOPClassUID", "StudyInstanceUID", "SeriesInstanceUID")
TAG_IN_TEXT = re.compile(r"\(([0-9A-Fa-f]{4}), ?([0-9A-Fa-f]{4})\)")


@dataclass(frozen=True)
class Original:
    """One object that an answer was made from.

    dicom_object  where it lies
    header        without pixels
    frames        numbers of the frames that were used, from 1; empty for a single image
    """

    dicom_object: DicomObject
    header: Any
    frames: tuple[int, ...]

    def narrow_to(self, images: Images | None) -> Original | None:
        """The same object with its frames among `images`; None if `images` has none of it."""
        if images is None:
            return None
        own_uid = str(self.header.SOPInstanceUID)
        uids_and_frames = zip(images.uids, images.frames, strict=True)
        frames = tuple(sorted({frame for uid, frame in uids_and_frames if uid == own_uid}))
        if not frames:
            return None
        if frames == (0,):  # a single image
            frames = ()
        return replace(self, frames=frames)


def narrow_originals(originals: Sequence[Original], images: Images | None) -> list[Original]:
    """The objects that have frames among `images`, each with those alone."""
    return list(filter(None, (original.narrow_to(images) for original in originals)))


@without_warnings()
def originals_of(answer: StoredAnswer) -> list[Original]:
    """The objects behind an answer, in the order of its slices.

    Raises ModelError as `require_images`, "export-unreadable" without permission to read them,
    "export-changed" if they are missing or have changed since, and "export-no-uid" if images lack a
    SOP Instance UID or share one, so that they cannot be referred to.
    """
    objects_by_uid = _objects_by_uid(answer)
    for uid, objects_of_uid in objects_by_uid.items():
        if not uid:
            _refuse_faulty_uids(answer, "lack")
        if len(objects_of_uid) > 1:
            _refuse_faulty_uids(answer, "share")
    originals = [
        Original(dicom_object, read_whole_header(dicom_object), ())
        for (dicom_object,) in objects_by_uid.values()
    ]
    return narrow_originals(originals, answer.images)


def _refuse_faulty_uids(answer: StoredAnswer, fault_verb: str) -> NoReturn:
    """Raises ModelError "export-no-uid" for images that `lack` or `share` a SOP Instance UID."""
    raise ModelError(
        "export-no-uid",
        f"{answer.path}: images of {answer.volume_id} {fault_verb} a SOP Instance UID, so nothing "
        "can refer to one of them. Give each its own, and predict again.",
    )


@without_warnings()
def header_of(answer: StoredAnswer) -> Any:
    """The header of one object behind an answer, whatever its UIDs are.  Raises ModelError as
    `originals_of`, but not "export-no-uid"."""
    objects_of_first_uid = next(iter(_objects_by_uid(answer).values()))
    return read_whole_header(min(objects_of_first_uid))


def _objects_by_uid(answer: StoredAnswer) -> dict[str, set[DicomObject]]:
    """The objects of an answer by their SOP Instance UIDs, in the order of its slices.

    Raises ModelError as `require_images`, "export-unreadable" without permission to read them,
    and "export-changed" if they are missing or have changed since.
    """
    answered_uids = list(dict.fromkeys(require_images(answer).uids))
    objects_by_uid: dict[str, set[DicomObject]] = {}
    try:
        for frame in images_of(answer.path):
            objects_by_uid.setdefault(frame.sop_uid, set()).add(frame.dicom_object)
        has_same_files = answer.file_record is None or is_unchanged(
            source_of(answer.path), answer.file_record
        )
    except OSError as fault:
        raise ModelError(
            "export-unreadable",
            f"{answer.path}: {answer.volume_id} was answered from it, but it cannot be read "
            f"({fault.strerror}). Restore its permissions, and export again.",
        ) from fault
    missing_count = sum(uid not in objects_by_uid for uid in answered_uids)
    if missing_count:
        _refuse_changed(answer, f"{missing_count} of {len(answered_uids)} images", "are missing")
    if not has_same_files:
        _refuse_changed(answer, "the files", "have changed since")
    return {uid: objects_by_uid[uid] for uid in answered_uids}


def _refuse_changed(answer: StoredAnswer, changed_part: str, change_phrase: str) -> NoReturn:
    """Raises ModelError "export-changed": what of the source of an answer changed, and how."""
    raise ModelError(
        "export-changed",
        f"{answer.path}: {changed_part} that {answer.volume_id} was answered from {change_phrase}. "
        "Predict it again.",
    )


def require_images(answer: StoredAnswer) -> Images:
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
def translate_header_faults(answer: StoredAnswer, problem: str) -> Iterator[None]:
    """Exceptions raised within by unusual header values, whose text may contain a name, become
    ModelError "export-header" with the `problem` of the header, and the attribute if it is
    known."""
    try:
        with without_warnings():
            yield
    except (FovnetError, OSError, MemoryError):
        raise
    except Exception as fault:
        attribute_name = _attribute_in(str(fault)) or "an attribute"
        raise ModelError(
            "export-header",
            f"{answer.path}: {answer.volume_id} has a header {problem}: {attribute_name} "
            "is not valid. dciodvfy (Debian: dicom3tools) lists what is wrong; correct the series "
            "in its archive.",
        ) from fault


def _attribute_in(fault_text: str) -> str:
    """The keyword of the tag that the text of an exception names; "" without one."""
    tag_match = TAG_IN_TEXT.search(fault_text)
    if not tag_match:
        return ""
    group_and_element = "".join(tag_match.groups())
    return keyword_for_tag(int(group_and_element, 16))


def refuse_unreferable(answer: StoredAnswer, sources: Sequence[Original]) -> None:
    """Raises ModelError "export-header" if an image lacks a UID by which a report refers to it."""
    for source, attribute_keyword in product(sources, REFERENCE_KEYWORDS):
        if not source.header.get(attribute_keyword):
            raise ModelError(
                "export-header",
                f"{answer.path}: images of {answer.volume_id} lack {attribute_keyword}, so "
                "nothing can refer to them. Give them one, and predict again.",
            )


def ignore_note(note: str) -> None:
    """Reports a note on an export, what was left out of it, to nobody."""


def image_keys(sources: Sequence[Original]) -> Iterator[str]:
    """What identifies these images: their SOP Instance UIDs and, of multi-frame objects, the frames
    used."""
    for source in sources:
        yield str(source.header.SOPInstanceUID)
        if source.frames:
            yield f"frames {','.join(map(str, source.frames))}"
