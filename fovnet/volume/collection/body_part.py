"""The regions that Body Part Examined (0018,0015) stands for, read tolerantly: archives contain
codes, old codes, shorthand and free text.

Codes of single regions, combined terms, synonyms in any case, and several of them in one text
("CHEST/ABDOMEN", "ABD_PELV", "L SPINE") are recognised, together with the words of
`header_words.tsv`. Where a vocabulary has the parts of a region, `header_part_words.tsv` says which
of them a word names; LEG is then DICOM's, the lower leg.  Only known terms are returned, never the
text itself, because free text may contain anything.

A range ("SKULL TO THIGH", "NECK - ABDOMEN") means every region of the chain from one end to the
other; an end in no region, such as a foot, counts as far as `header_range_ends.tsv` says.  "NECK OF
X" means X.  Where several readings are left, the text is not understood as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fovnet.records import read_tsv
from fovnet.regions import DEFAULT, ELSEWHERE, NONE, TERM_BY_CODES, Vocabulary
from fovnet.volume.collection.table_rows import find_region

OTHER_PART = "OTHER"
WORD_TABLE = Path(__file__).with_name("header_words.tsv")
PART_WORD_TABLE = Path(__file__).with_name("header_part_words.tsv")
RANGE_END_TABLE = Path(__file__).with_name("header_range_ends.tsv")
RANGE_WORDS = frozenset({"BIS", "HASTA", "THROUGH", "THRU", "TILL", "TO", "UNTIL"})
DASH_BETWEEN_WORDS = re.compile(r"(?P<spaced>\s+[-\u2013\u2014]+\s+)|\s*[-\u2013\u2014]+\s*")
OF_WORD = "OF"
FETUS_WORDS = frozenset({"FETAL", "FETALE", "FETO", "FETUS", "FOETAL", "FOETUS"})
"""A fetus lies in its mother's abdomen or pelvis, whatever part of it is meant."""
MAX_PHRASE_WORDS = 4  # words: LOWER EXTREMITY, CHEST TO PELVIS
LEAST_PART_LETTERS = 3  # letters, of a word written together with others
LEAST_CUT_LENGTH = 15  # characters: scanners cut texts to the 16 of a code string, or to 15


@dataclass(frozen=True)
class BodyPartReading:
    """What a header's text stands for.

    regions        in the vocabulary's order; empty for a part of the body in no region, None if no
                   word names one
    is_understood  whether every word is understood: what another word may add is not known
                   otherwise
    """

    regions: tuple[str, ...] | None
    is_understood: bool


def read_body_part(text: str, vocabulary: Vocabulary = DEFAULT) -> BodyPartReading:
    """What a text stands for, phrase by phrase; the last word of a text that may have been cut is
    completed by what all words with its beginning mean."""
    phrases = _split_into_phrases(text, vocabulary)
    if phrases and phrases[-1].meaning is None and len(text.strip()) >= LEAST_CUT_LENGTH:
        completed = _meaning_of_beginning(phrases[-1].term, vocabulary)
        phrases[-1] = replace(phrases[-1], meaning=completed, range_end=completed or frozenset())
    if FETUS_WORDS & {phrase.term for phrase in phrases if phrase.meaning is None}:
        return BodyPartReading(None, is_understood=False)
    is_one_reading = _drop_organ_parts(phrases)
    meanings = [phrase.meaning for phrase in phrases if phrase.names_part]
    for phrase_index in range(len(phrases)):
        range_regions = _find_range(phrases, phrase_index, vocabulary)
        is_one_reading = is_one_reading and range_regions is not None
        meanings.append(range_regions or None)
    known_meanings = [meaning for meaning in meanings if meaning is not None]
    if not known_meanings:
        regions = None
    else:
        region_names = frozenset().union(*known_meanings)
        regions = tuple(name for name in vocabulary.classes if name in region_names)
    are_all_words_known = all(phrase.meaning is not None for phrase in phrases)
    return BodyPartReading(regions, is_one_reading and are_all_words_known)


def find_regions_of_text(text: str, vocabulary: Vocabulary = DEFAULT) -> tuple[str, ...] | None:
    """The regions that a header's text stands for, in the vocabulary's order; empty for a body part
    outside them, None if unknown.

    Unknown words among several are skipped: "LIVER DYNAMIC" is the abdomen.
    """
    return read_body_part(text, vocabulary).regions


def as_body_part_terms(text: str) -> str:
    """The text as DICOM terms, for tables: the term itself if it is a known one (a region, several,
    or a body part outside them), else the terms of its regions (SPINE for CSPINE); OTHER_PART for an
    unknown text, empty for none."""
    term = "".join(text.upper().replace("_", " ").split())
    if term in {term.body_part for term in TERM_BY_CODES.values()} | ELSEWHERE | {
        region.body_part for region in DEFAULT.regions
    }:
        return term
    if not term:
        return ""
    regions = find_regions_of_text(text)
    if regions is None:
        return OTHER_PART
    return (
        " ".join(region.body_part for region in DEFAULT.regions if region.name in regions)
        or OTHER_PART
    )


Meaning = frozenset[str]
NO_MEANING: Meaning = frozenset({""})
"""The meaning of a word beside the point: a side, a contrast agent, a plane."""


@dataclass(frozen=True)
class Phrase:
    """Words read together.

    term       the words without blanks
    separator  what is written before it
    meaning    None if it is not understood
    range_end  the regions that a range from or to it reaches at this end; empty if that is not
               known
    """

    term: str
    separator: str
    meaning: Meaning | None
    range_end: Meaning

    @property
    def names_part(self) -> bool:
        """Whether it names a part of the body, of a region or of none."""
        return self.meaning is not None and self.meaning != NO_MEANING


def _split_into_phrases(header_text: str, vocabulary: Vocabulary) -> list[Phrase]:
    """The phrases of a text in its order; at each word the longest phrase that has a meaning is
    taken."""
    separated_words = re.findall(r"([\W\d_]*)([^\W\d_]+)", header_text.upper())
    words = [word for _, word in separated_words]
    range_end_by_term = _read_words(RANGE_END_TABLE, vocabulary)
    phrases = []
    first_word = 0
    while first_word < len(words):
        for word_after in range(min(first_word + MAX_PHRASE_WORDS, len(words)), first_word, -1):
            meaning = _meaning_of_term(words[first_word:word_after], vocabulary)
            if meaning is not None:
                break
        else:
            meaning = _meaning_of_compound(words[first_word], vocabulary)
        term = "".join(words[first_word:word_after])
        if term in RANGE_WORDS:
            meaning = NO_MEANING
        range_end = (meaning or NO_MEANING) - NO_MEANING
        if not meaning and term in range_end_by_term:  # a vocabulary may have a region of that name
            meaning = frozenset()
            range_end = range_end_by_term[term]
        phrases.append(Phrase(term, separated_words[first_word][0], meaning, range_end))
        first_word = word_after
    return phrases


def _drop_organ_parts(phrases: list[Phrase]) -> bool:
    """Empties the phrase before each OF, which names a part of an organ elsewhere: the neck of the
    femur. Returns whether there was none."""
    has_no_organ_part = True
    for phrase_index in range(1, len(phrases)):
        organ_phrase = next(
            (phrase for phrase in phrases[phrase_index:] if phrase.names_part), None
        )
        if (
            phrases[phrase_index].term == OF_WORD
            and organ_phrase is not None
            and phrases[phrase_index - 1].names_part
        ):
            phrases[phrase_index - 1] = replace(
                phrases[phrase_index - 1], meaning=NO_MEANING, range_end=frozenset()
            )
            has_no_organ_part = False
    return has_no_organ_part


def _find_range(phrases: list[Phrase], phrase_index: int, vocabulary: Vocabulary) -> Meaning | None:
    """The regions of the range that the phrase, or the dash before it, may stand for: empty if it
    is none, None if it is not known whether or which.

    CHEST-THIGH may be a range or two parts; where other regions lie between, that is not known.
    """
    phrase = phrases[phrase_index]
    is_range_word = phrase.term in RANGE_WORDS
    dash_match = DASH_BETWEEN_WORDS.fullmatch(phrase.separator)
    if not is_range_word and dash_match is None:
        return frozenset()
    ends_before = [
        phrase.range_end for phrase in phrases[:phrase_index] if phrase.meaning != NO_MEANING
    ]
    ends_after = [
        phrase.range_end for phrase in phrases[phrase_index:] if phrase.meaning != NO_MEANING
    ]
    if not ends_before and not ends_after:
        return frozenset()
    first_end = last_end = frozenset[str]()
    if ends_before:
        first_end = ends_before[-1]
    if ends_after:
        last_end = ends_after[0]
    chain = frozenset(vocabulary.chain)
    if not first_end or not last_end or bool(first_end & chain) != bool(last_end & chain):
        if is_range_word:
            return None
        return frozenset()
    end_regions = first_end | last_end
    rungs = [
        rung for rung, region_name in enumerate(vocabulary.chain) if region_name in end_regions
    ]
    range_regions = end_regions.union(*(vocabulary.chain[rung : rungs[-1] + 1] for rung in rungs))
    if is_range_word or (dash_match is not None and dash_match["spaced"]):
        return range_regions
    if range_regions - end_regions:
        return None
    return frozenset()


def _meaning_of_term(phrase: list[str], vocabulary: Vocabulary) -> Meaning | None:
    """The regions that one term, of one word or several, stands for."""
    region = find_region(" ".join(phrase), vocabulary)
    if region is not None:
        return frozenset({region} - {NONE})
    return _meaning_by_word(vocabulary).get("".join(phrase))


def _meaning_of_compound(word: str, vocabulary: Vocabulary) -> Meaning | None:
    """The meaning of a word of several written together, such as ABDPELVIS; None if a part is
    unknown.

    A part of three letters counts only beside one of other regions, or one that says nothing:
    HIPPEL and CAPPEL are surnames.
    """
    for split_index in range(len(word) - LEAST_PART_LETTERS, LEAST_PART_LETTERS - 1, -1):
        meaning = _meaning_of_term([word[:split_index]], vocabulary)
        if meaning is None:
            continue
        rest_meaning = _meaning_of_term([word[split_index:]], vocabulary) or _meaning_of_compound(
            word[split_index:], vocabulary
        )
        if rest_meaning is None:
            continue
        is_long = LEAST_PART_LETTERS < split_index < len(word) - LEAST_PART_LETTERS
        if is_long or (meaning and rest_meaning and not (meaning & rest_meaning) - NO_MEANING):
            return (meaning | rest_meaning) - NO_MEANING or NO_MEANING
    return None


def _meaning_of_beginning(beginning: str, vocabulary: Vocabulary) -> Meaning | None:
    """What all words with this beginning that name a region have in common; None if that is
    nothing."""
    meaning_of_word = _meaning_by_word(vocabulary)
    meanings = [
        meaning_of_word[word]
        for word in meaning_of_word
        if word.startswith(beginning) and meaning_of_word[word] != NO_MEANING
    ]
    if not meanings:
        return None
    return frozenset.intersection(*meanings) or None


@cache
def _meaning_by_word(vocabulary: Vocabulary) -> dict[str, Meaning]:
    """The meaning of every word without blanks: of `header_words.tsv`, as far as the vocabulary has
    regions of the same codes, of DICOM's terms, and of the vocabulary's own words, which win."""
    meaning_of_word = dict(_read_words(WORD_TABLE, vocabulary))
    for whole, parts in vocabulary.parts.items():
        words = DEFAULT.region(whole).words
        meaning_of_word |= {word.replace(" ", ""): frozenset(parts) for word in words}
    meaning_of_word |= dict.fromkeys(ELSEWHERE, frozenset())
    meaning_of_word |= {
        term.body_part: vocabulary.regions_of_code(term.sct)
        for term in vocabulary.term_by_codes.values()
    }
    for region in vocabulary.regions:
        meaning_of_word |= {
            word.replace(" ", ""): frozenset({region.name}) for word in region.words
        }
    return meaning_of_word


@cache
def _read_words(table: Path, vocabulary: Vocabulary) -> dict[str, Meaning]:
    """The meaning of every word of a table, as far as the vocabulary has regions of the same
    codes."""
    parts_by_word = {row["word"]: row["parts"].split(", ") for row in read_tsv(PART_WORD_TABLE)}
    meaning_by_word: dict[str, Meaning] = {}
    for row in read_tsv(table):
        names = row["regions"].split()
        word_parts = parts_by_word.get(row["word"], ())
        meanings = [_meaning_of_name(name, word_parts, vocabulary) for name in names]
        region_names = frozenset[str]().union(*meanings)
        if region_names or not names:
            meaning_by_word[row["word"]] = region_names or NO_MEANING
    return meaning_by_word


def _meaning_of_name(name: str, word_parts: Sequence[str], vocabulary: Vocabulary) -> Meaning:
    """What a region of DEFAULT is in a vocabulary: of its parts there those that the word names,
    else the region of the same code, else all its parts."""
    parts = vocabulary.parts.get(name, ())
    if named_parts := frozenset(parts).intersection(word_parts):
        return named_parts
    name_by_code = {region.sct: region.name for region in vocabulary.regions}
    same_name = name_by_code.get(DEFAULT.region(name).sct)
    if same_name is not None:
        return frozenset({same_name})
    return frozenset(parts)
