"""The answers that `fovnet predict` left in a folder, as exports read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.errors import CollectionError
from fovnet.evaluate.answers import read_facts
from fovnet.evaluate.cases import Stretch
from fovnet.evaluate.reading import stretches
from fovnet.regions import Vocabulary
from fovnet.volume.volume import Images

KEYS = ("volume_id", "path", "status", "message", "rows", "model", "fovnet")


@dataclass(frozen=True)
class StoredAnswer:
    """One volume's answer as its JSON holds it: the predicted spans, and the images that they were predicted from.

    model     changes with the ensemble or its rule          images  None where the source was no DICOM
    confidence  None where the volume was refused             file    marks of what was read, as `fovnet.decision.kept` takes them
    """

    volume_id: str
    path: Path
    status: str
    message: str
    spans: tuple[Stretch, ...]
    confidence: float | None
    images: Images | None
    model: str
    version: str
    file: Mapping[str, Any] | None = None

    def identity(self) -> tuple[object, ...]:
        """What distinguishes this answer from any other on the same images: model, version, status and every span."""
        spans = [f"{span.region} {span.from_mm:.3f} {span.to_mm:.3f} {span.confidence:.4f}" for span in self.spans]
        return self.model, self.version, self.status, *spans

    def images_of(self, span: Stretch) -> Images | None:
        """The source images that a span's slices were cut from: its own where an image is a slice, else all of them."""
        if self.images is None or self.images.axis != 2:
            return self.images
        rows = slice(span.first_slice, span.last_slice + 1)
        return Images(2, self.images.uids[rows], self.images.frames[rows])


def read_answers(folder: Path, vocabulary: Vocabulary | None = None) -> list[StoredAnswer]:
    """The answers behind the spans.tsv of a folder, in its order.

    Raises CollectionError "answers-missing" where there are none, "answers-other-regions" where one has other classes than the vocabulary.
    """
    found = read_facts(folder, KEYS)
    wanted = None if vocabulary is None else vocabulary.classes
    for facts in found:
        classes = tuple(facts.get("classes") or ())
        if wanted and classes and classes != wanted:
            raise CollectionError("answers-other-regions", f"{folder}: {facts['volume_id']} was answered with the classes "
                                                           f"{', '.join(classes)}, and --regions has {', '.join(wanted)}; give the "
                                                           "--regions of its ensemble")
    return [_stored_answer(facts) for facts in found]


def _stored_answer(facts: Mapping[str, Any]) -> StoredAnswer:
    images = facts.get("images")
    spans = stretches([{**row} for row in facts["rows"] if row.get("region")])
    return StoredAnswer(
        facts["volume_id"], Path(facts["path"]), facts["status"], facts["message"], tuple(spans), facts.get("confidence"),
        images and Images(images["axis"], tuple(images["sop_instance_uid"]), tuple(images["frame"])), facts["model"],
        facts["fovnet"]["version"], facts.get("file"),
    )
