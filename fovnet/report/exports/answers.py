"""The answers that `fovnet predict` wrote to a folder, read for exports."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from fovnet.decision.division import find_finest_names
from fovnet.decision.statements import YES, Statement
from fovnet.errors import CollectionError
from fovnet.evaluate.answers import read_answer_facts
from fovnet.evaluate.cases import StoredSpan
from fovnet.evaluate.stored_answers import spans_in, statement_in
from fovnet.regions import WHOLE_BY_PART, Vocabulary
from fovnet.volume.volume import Images

PartFact = TypeVar("PartFact", Statement, StoredSpan)
REQUIRED_KEYS = ("volume_id", "path", "status", "message", "rows", "model", "fovnet")


@dataclass(frozen=True)
class StoredAnswer:
    """One volume's answer from its JSON: the predicted spans, and the images that they were
    predicted from.

    confidence        None where it is not told: the best guess is not sure, or the volume was
                      refused
    images            None if the source was not DICOM
    model_identity    of the ensemble and its rule
    fovnet_version    that answered it
    file_record       fingerprint of the files when read, from `fovnet.decision.earlier_answers`
    statements        what is said of each region; empty where nothing was said region by region
    are_extents_sure  whether nothing is doubted of the volume as a whole, its spans and their ends
                      included
    parts             what is said of the parts of regions; empty where nothing is
    part_spans        those of parts of regions that are surely shown
    """

    volume_id: str
    path: Path
    status: str
    message: str
    spans: tuple[StoredSpan, ...]
    confidence: float | None
    images: Images | None
    model_identity: str
    fovnet_version: str
    file_record: Mapping[str, Any] | None = None
    statements: tuple[Statement, ...] = ()
    are_extents_sure: bool = True
    parts: tuple[Statement, ...] = ()
    part_spans: tuple[StoredSpan, ...] = ()

    @property
    def shown_spans(self) -> tuple[StoredSpan, ...]:
        """The spans of the regions that are said to be shown; without statements, all of them."""
        shown_regions = self.shown_regions
        return tuple(span for span in self.spans if span.region in shown_regions)

    @property
    def shown_regions(self) -> frozenset[str]:
        """The regions that are said to be shown; without statements, those of all spans."""
        if not self.statements:
            return frozenset(span.region for span in self.spans)
        return frozenset(
            statement.region for statement in self.statements if statement.answer == YES
        )

    @property
    def divided_regions(self) -> frozenset[str]:
        """The regions of whose parts something is said."""
        return frozenset(WHOLE_BY_PART[part.region] for part in self.parts)

    @property
    def finely_sure_regions(self) -> frozenset[str]:
        """The regions surely shown whose span their parts surely fill."""
        return frozenset(
            region
            for region in self.divided_regions & {span.region for span in self.shown_spans}
            if find_finest_names(region, _parts_of(region, self.parts)) != (region,)
        )

    @property
    def finest_spans(self) -> tuple[StoredSpan, ...]:
        """The spans of the regions surely shown: those of its parts in the place of each that
        they surely fill."""
        return self.in_parts(self.finely_sure_regions).shown_spans

    def in_parts(self, regions: Collection[str]) -> StoredAnswer:
        """The same with what is said of its parts in the place of each of these regions, and without
        the parts of others; a region that has no spans of parts keeps its own."""
        if not self.parts:
            return self
        statements: list[Statement] = []
        for statement in self.statements:
            if statement.region in regions:
                statements += _parts_of(statement.region, self.parts)
            else:
                statements.append(statement)
        spans: list[StoredSpan] = []
        for span in self.spans:
            part_spans = _parts_of(span.region, self.part_spans)
            if span.region in regions and part_spans:
                spans += part_spans
            else:
                spans.append(span)
        return replace(
            self, statements=tuple(statements), spans=tuple(spans), parts=(), part_spans=()
        )

    def probability(self, span: StoredSpan) -> float:
        """That the region of a span is shown; without statements, the confidence of the span."""
        probability_by_region = {
            statement.region: statement.probability for statement in self.statements
        }
        return probability_by_region.get(span.region, span.confidence)

    def sure_confidence(self, span: StoredSpan) -> float | None:
        """The confidence of a span; None where its region is not surely shown."""
        is_guess = not self.statements and self.status != "ok"
        if is_guess or span.region not in self.shown_regions:
            return None
        return span.confidence

    def identity(self) -> tuple[object, ...]:
        """What distinguishes this answer from any other on the same images: model, version, status,
        every span, and what is said of each region and part."""
        identifying_texts = [
            f"{span.region} {span.from_mm:.3f} {span.to_mm:.3f} {span.confidence:.4f}"
            for span in (*self.spans, *self.part_spans)
        ]
        identifying_texts += [
            f"{statement.region} {statement.answer} {statement.probability:.4f}"
            for statement in (*self.statements, *self.parts)
        ]
        # an answer without statements keeps the UIDs that it always had
        if self.statements and not self.are_extents_sure:
            identifying_texts.append("extents unsure")
        return self.model_identity, self.fovnet_version, self.status, *identifying_texts

    def images_of(self, span: StoredSpan) -> Images | None:
        """The source images of a span: those of its slices if each slice is an image, otherwise
        all."""
        if self.images is None or self.images.axis != 2:
            return self.images
        slice_range = slice(span.first_slice, span.last_slice + 1)
        return Images(2, self.images.uids[slice_range], self.images.frames[slice_range])


def finest_level(answer: StoredAnswer, vocabulary: Vocabulary) -> tuple[StoredAnswer, Vocabulary]:
    """The answer with parts in the place of the regions that `finest_spans` divides, and the
    vocabulary of what it then names; both as they are where nothing is said of parts."""
    regions = answer.finely_sure_regions
    return answer.in_parts(regions), vocabulary.in_parts(regions)


def _parts_of(region: str, parts: Iterable[PartFact]) -> list[PartFact]:
    """Those that are about parts of a region."""
    return [part for part in parts if WHOLE_BY_PART.get(part.region) == region]


def read_answers(folder: Path, vocabulary: Vocabulary | None = None) -> list[StoredAnswer]:
    """The answers in the spans.tsv of a folder, in its order.

    Raises CollectionError "answers-missing" if there are none, "answers-other-regions" if one has
    other classes than the vocabulary.
    """
    answer_jsons = read_answer_facts(folder, REQUIRED_KEYS)
    if vocabulary is not None:
        for answer_json in answer_jsons:
            _refuse_other_classes(folder, answer_json, vocabulary.classes)
    return [answer_from_facts(answer_json) for answer_json in answer_jsons]


def _refuse_other_classes(
    folder: Path, answer_json: Mapping[str, Any], expected_classes: tuple[str, ...]
) -> None:
    """Raises CollectionError "answers-other-regions" if an answer names other classes."""
    answered_classes = tuple(answer_json.get("classes") or ())
    if answered_classes and answered_classes != expected_classes:
        raise CollectionError(
            "answers-other-regions",
            f"{folder}: {answer_json['volume_id']} was answered with the classes "
            f"{', '.join(answered_classes)}, but --regions has {', '.join(expected_classes)}; "
            "give the --regions of its ensemble",
        )


def answer_from_facts(answer_json: Mapping[str, Any]) -> StoredAnswer:
    """The answer that a volume's JSON holds."""
    return StoredAnswer(
        volume_id=answer_json["volume_id"],
        path=Path(answer_json["path"]),
        status=answer_json["status"],
        message=answer_json["message"],
        spans=tuple(spans_in(answer_json.get("spans") or ())),
        confidence=answer_json["rows"][0].get("volume_confidence"),
        images=_images_in(answer_json),
        model_identity=answer_json["model"],
        fovnet_version=answer_json["fovnet"]["version"],
        file_record=answer_json.get("file"),
        statements=tuple(map(statement_in, answer_json.get("statements") or ())),
        are_extents_sure=answer_json.get("extents_sure", answer_json["status"] == "ok"),
        parts=tuple(map(statement_in, answer_json.get("parts") or ())),
        part_spans=spans_in(answer_json.get("part_spans") or ()),
    )


def _images_in(answer_json: Mapping[str, Any]) -> Images | None:
    """The images that an answer was predicted from; None if they were not DICOM."""
    image_references = answer_json.get("images")
    if not image_references:
        return None
    return Images(
        image_references["axis"],
        tuple(image_references["sop_instance_uid"]),
        tuple(image_references["frame"]),
    )
