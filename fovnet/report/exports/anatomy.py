"""What a header says of the regions that a volume shows: one Body Part Examined, and coded anatomic
regions.

Body Part Examined (0018,0015) has a single value, and PS3.16, Annex L, has terms for few sets of
regions. A term for fewer regions would leave some out, and one for more, such as WHOLEBODY, would
name what is not shown; so that it is empty for a set without a term, as it may be (Type 3).
Anatomic Region Sequence (0008,2218) then has an item for each region.  PS3.3, table 10-7, permits
one item in an image (10-7b several, in a segmentation): dciodvfy tells so, readers take all; an
item that names all shown regions does not exist.

Where parts of a region are sure they are named in its place: a knee is KNEE.  Parts without a term
have an item each, and the Body Part Examined of their regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.errors import ModelError
from fovnet.regions import Term, Vocabulary
from fovnet.report.exports.answers import StoredAnswer, finest_level
from fovnet.report.exports.originals import refuse_unanswered

LEAST_HEIGHT_SHARE = 0.8
"""A side region with less of the height of all spans gives no term: a spine along a head is no
spine acquisition."""
PAIRED_TERMS = frozenset({"LOWERLIMB", "PELVISLOWEXTREMT"})
PAIRED_PART_TERMS = PAIRED_TERMS | {"FOOT", "LEG", "KNEE", "THIGH"}
"""Terms for paired parts: their series must have a Laterality, empty if unknown (Type 2C).  The second
are those of an answer on parts of regions."""
CORRECT_BY_HAND = "Look at the volume, and correct its header by hand if necessary."


@dataclass(frozen=True)
class Anatomy:
    """Body Part Examined, empty if no term names these regions together, and the concepts that name
    all of them, from the feet up.

    is_paired  whether it is a term for paired parts
    """

    body_part: str
    concepts: tuple[Term, ...]
    is_paired: bool


def anatomy_of(answer: StoredAnswer, vocabulary: Vocabulary) -> Anatomy:
    """What a header says of the regions that a volume is said to show, and of no others.

    Beside the regions that it crosses, a side region such as spine gives the Body Part Examined if
    its span has at least LEAST_HEIGHT_SHARE of the height of all spans, as that of an acquisition
    of the spine; otherwise they do.  Raises ModelError "export-unsure" for an answer that is not
    "ok", and where these heights are in doubt; "export-none", "export-no-code".
    """
    _refuse_unsure_or_empty(answer)
    finest_answer, finest_vocabulary = finest_level(answer, vocabulary)
    side_names = _shown_among(vocabulary.side_regions, answer)
    chain_names = _shown_among(finest_vocabulary.chain, finest_answer)
    common_term = finest_vocabulary.term(chain_names)
    concepts = []
    if common_term:
        concepts.append(common_term)
    else:
        concepts += [
            _concept_of(finest_answer, region, finest_vocabulary) for region in chain_names
        ]
    concepts += [_concept_of(answer, region, vocabulary) for region in side_names]
    body_part = ""
    if side_names and chain_names:
        body_part = _body_part_of_side_region(answer, side_names, vocabulary)
    elif len(concepts) == 1:
        body_part = concepts[0].body_part
    header_term = common_term or vocabulary.term(_shown_among(vocabulary.chain, answer))
    if header_term and not body_part:
        body_part = header_term.body_part
    paired_terms = PAIRED_PART_TERMS if answer.parts else PAIRED_TERMS
    return Anatomy(body_part, tuple(concepts), is_paired=body_part in paired_terms)


def _shown_among(regions: Sequence[str], answer: StoredAnswer) -> list[str]:
    """Those of these regions that have a span and are said to be shown."""
    shown_names = {span.region for span in answer.shown_spans}
    return [region for region in regions if region in shown_names]


def _concept_of(answer: StoredAnswer, region: str, vocabulary: Vocabulary) -> Term:
    """The concept of one region.  Raises ModelError "export-no-code" if it has none, or if it is
    the only region shown and has no Body Part Examined."""
    concept = vocabulary.concept(region)
    is_only_region = len(answer.shown_regions) == 1
    if concept is None or (is_only_region and not concept.body_part):
        raise ModelError(
            "export-no-code",
            f"{answer.volume_id}: the region {region!r} lacks a SNOMED CT code or a Body Part "
            "Examined. Give `sct` and `body_part` in the regions file.",
        )
    return concept


def _refuse_unsure_or_empty(answer: StoredAnswer) -> None:
    """Raises ModelError "export-unsure" for an answer that is not "ok", "export-none" for one of no
    region."""
    refuse_unanswered(answer)
    if answer.status != "ok":
        raise ModelError(
            "export-unsure",
            f"{answer.volume_id}: its regions are not sure ({answer.message}); only an answer with "
            f"status ok is written into a header. {CORRECT_BY_HAND}",
        )
    if not answer.shown_spans:
        raise ModelError(
            "export-none",
            f"{answer.volume_id}: it shows none of the regions, for which there is no Body Part "
            f"Examined. {CORRECT_BY_HAND}",
        )


def _body_part_of_side_region(
    answer: StoredAnswer, side_names: list[str], vocabulary: Vocabulary
) -> str:
    """The Body Part Examined of the first side region whose span has at least LEAST_HEIGHT_SHARE of
    the height of all spans; "" if none has.  Raises ModelError "export-unsure" where the heights
    are in doubt."""
    if not answer.are_extents_sure:
        raise ModelError(
            "export-unsure",
            f"{answer.volume_id}: its term depends on heights in doubt ({answer.message}). "
            f"{CORRECT_BY_HAND}",
        )
    spans = answer.shown_spans
    height_mm = max(span.to_mm for span in spans) - min(span.from_mm for span in spans)
    tall_regions = {
        span.region for span in spans if span.to_mm - span.from_mm >= LEAST_HEIGHT_SHARE * height_mm
    }
    for side_name in side_names:
        concept = vocabulary.concept(side_name)
        if side_name in tall_regions and concept is not None:
            return concept.body_part
    return ""
