"""Whether a patient is an animal, by the header.

The regions are those of people, and in a quadruped's images the axes of the patient mean other
directions. An animal is what the lists here name: the species of CID 7454 by their codes and names,
and common words for the animals that are scanned.  What is on no list is no animal but a note: it
may be a person in another language, an age or a phantom.  Source: DICOM PS3.3, C.7.1.1 (species,
breed, strain), C.7.6.2.1.1 (axes of quadrupeds), PS3.16, CID 7454 (species codes).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fovnet.volume.dicom.header import as_text, as_values, make_lookup

ANIMAL_NOTE = "an animal, by its header: the regions are those of people"
UNCLEAR_NOTE = (
    "its header names a species or breed that is not known: the regions are those of people"
)
# Homo sapiens in SNOMED CT, SNOMED RT, NCBI taxonomy
HUMAN_CODES = frozenset({"337915000", "L-85B00", "9606"})
# unknown twice, other, not applicable
UNKNOWN_SPECIES_CODES = frozenset({"261665006", "R-41198", "74964007", "385432009"})
# what stands for people as a whole; ages and peoples that programs write into species and breed
HUMAN_WORDS = re.compile(
    r"((HUMANS?|HOMO( SAPIENS){0,2}|PERSON|PEOPLE|MENSCH(LICH)?|MAN|WOMAN|HUMAIN|HOMME|UMANO"
    r"|HUMANO|HOMBRE"
    r"|MUJER|HOMEM|MENS|MÄNNISKA|MENNESKE|IHMINEN|CZŁOWIEK|ЧЕЛОВЕК|ヒト|人|人类|人類|사람|ADULT|CHILD|INFANT"
    r"|NEONATE|NEWBORN|PATIENT|MALE|FEMALE|CAUCASIAN|WHITE|BLACK|ASIAN|AFRICAN|HISPANIC|MIXED) ?)+"
)
# what stands where nothing is known, and what is no body
UNKNOWN_WORDS = re.compile(
    r"|[\W_\d]+|NA|N A|UNKNOWN|NONE|NULL|ANON\w*|UNSPECIFIED|OTHER|NOT (APPLICABLE|KNOWN"
    r"|SPECIFIED|GIVEN)"
    r"|(\w+ )*PHANTOM( \w+)*"
)
ANIMAL_WORDS = re.compile(
    r"\b(NON ?HUMANS?|NHP|NONHUMAN|HUMANI[SZ]ED|ANIMALS?|TIER|VETERINARY"
    r"|CAN(INE|IS)|DOGS?|PUPPY|HUND|CHIEN|PERRO|CANE|CACHORRO|BEAGLE|LABRADOR|RETRIEVER|SHEPHERD"
    r"|POODLE"
    r"|TERRIER|BULLDOG|DACHSHUND|BOXER|ROTTWEILER|SPANIEL|HOUND|GREYHOUND|COLLIE|HUSKY|PUG"
    r"|CHIHUAHUA|MONGREL"
    r"|MASTIFF|SCHNAUZER|MALTESE|SHIH TZU"
    r"|FEL(INE|IS)|CATS?|KITTEN|KATZE|GATO|GATTO|SIAMESE|DSH|DLH|DOMESTIC (SHORT|LONG) ?HAIR"
    r"|MAINE COON"
    r"|EQU(INE|US)|HORSES?|PONY|FOAL|DONKEY|MULE|PFERD|CHEVAL|CABALLO|CAVALLO|THOROUGHBRED"
    r"|WARMBLOOD|QUARTER"
    r"|ARABIAN|HANOVERIAN"
    r"|BOV(INE|IS)|BOS|COWS?|CALF|CATTLE|RIND|OV(INE|IS)|SHEEP|LAMB|EWE|SCHAF|MOUTON|MERINO"
    r"|CAPR(INE|A)"
    r"|GOATS?|ZIEGE|LLAMA|ALPACA|CAMEL|DEER|SUS|PORCINE|SWINE|PIGS?|MINIPIGS?|PIGLETS?|SCHWEIN"
    r"|YORKSHIRE PIG"
    r"|GOTTINGEN|GÖTTINGEN|YUCATAN"
    r"|MUS|MOUSE|MICE|MAUS|SOURIS|RATON|MURINE|RATTUS|RATS?|RATTE|WISTAR|SPRAGUE|DAWLEY|LEWIS RAT"
    r"|LONG EVANS"
    r"|C57BL\w*|BALB\w*|RODENTS?|HAMSTER|GERBIL|GUINEA|CAVIA|CHINCHILLA|MESOCRICETUS|RABBITS?"
    r"|ORYCTOLAGUS|LEPORINE|KANINCHEN|LAPIN|CONEJO|NEW ZEALAND WHITE|FERRETS?|MUSTELA"
    r"|MACACA|MACAQUES?|MONKEYS?|RHESUS|CYNOMOLGUS|BABOONS?|PAPIO|MARMOSETS?|CALLITHRIX"
    r"|CHIMPANZEES?|PAN"
    r"|GORILLAS?|PRIMATES?|SIMIAN|LEMUR|APES?|AFFE"
    r"|AVIAN|AVES|BIRDS?|GALLUS|CHICKEN|PARROT|VOGEL|REPTIL\w+|SNAKE|TURTLE|TORTOISE|LIZARD|FISH"
    r"|DANIO"
    r"|ZEBRAFISH|FROG|XENOPUS|AMPHIBIAN|BATS?|DOLPHIN|SEAL|ELEPHANT|TIGER|LION|WOLF|FOX|BEAR)\b"
)
# strains of laboratories
STRAIN_WORDS = re.compile(r"(C57|BALB|DBA|C3H|CBA|FVB|NOD|SCID|F344|SHR|129)\w*( .*)?")
DESCRIPTION_KEYWORDS = ("PatientSpeciesDescription", "PatientBreedDescription", "StrainDescription")
SEQUENCE_KEYWORDS = ("PatientSpeciesCodeSequence", "PatientBreedCodeSequence", "StrainCodeSequence")


def is_animal(get: Callable[[str], Any]) -> bool:
    """Whether the species, breed or strain is one of an animal, or the axes are those of a
    quadruped.

    A species that a code calls human is human, whatever the words beside it; a code of anything
    else is an animal.  Only words of the lists are an animal; "Adult", "Phantom" or a word of no
    list are none.
    """
    if as_text(get("AnatomicalOrientationType")).upper() == "QUADRUPED":
        return True
    codes = _species_codes(get)
    if codes & HUMAN_CODES:
        return False
    if codes - UNKNOWN_SPECIES_CODES:
        return True
    return any(
        ANIMAL_WORDS.search(description) or STRAIN_WORDS.fullmatch(description)
        for description in _descriptions(get)
    )


def has_unclear_species(get: Callable[[str], Any]) -> bool:
    """Whether the header names a species, breed or strain that is on no list here."""
    if _species_codes(get) & HUMAN_CODES:
        return False
    return any(not HUMAN_WORDS.fullmatch(words) for words in _descriptions(get))


def _species_codes(get: Callable[[str], Any]) -> frozenset[str]:
    code_lookups = map(make_lookup, as_values(get("PatientSpeciesCodeSequence")))
    return frozenset(
        as_text(value_of_code("CodeValue")).upper() for value_of_code in code_lookups
    ) - {""}


def _descriptions(get: Callable[[str], Any]) -> list[str]:
    """The words of species, breed and strain, as capitals; those that tell nothing are left out."""
    raw_descriptions = [get(keyword) for keyword in DESCRIPTION_KEYWORDS]
    raw_descriptions += [
        make_lookup(item)("CodeMeaning")
        for keyword in SEQUENCE_KEYWORDS
        for item in as_values(get(keyword))
    ]
    descriptions = (
        " ".join(re.sub(r"[\W_]+", " ", as_text(raw_description)).upper().split())
        for raw_description in raw_descriptions
    )
    return [description for description in descriptions if not UNKNOWN_WORDS.fullmatch(description)]
