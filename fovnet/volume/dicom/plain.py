"""The elements of a plain DICOM file: little endian, with a preamble, no damage, no surprise.

pydicom makes a record of every element, converts the same values for each image of a series, and
takes five times as long.  What a walk over the bytes does not know for certain is not plain, and
pydicom's: another encoding, a value representation that is not the dictionary's, a sequence that
fovnet needs, an element cut short.  Source: DICOM PS3.5, 7.1 (elements), 7.5 (sequences), PS3.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from struct import Struct, error
from typing import Any, BinaryIO

from fovnet.volume.unpacking import PREAMBLE_BYTES, has_preamble

OPENING_BYTES = 1 << 14  # most headers end before
SEQUENCE_BYTES = 1 << 13  # most sequences of undefined length end before
UNDEFINED_LENGTH = 0xFFFFFFFF
CHARACTER_SET = 0x00080005
SYNTAX_TAG = 0x00020010
MAX_LEVELS = 16  # of sequences within sequences; scanners write fewer than ten
PIXEL_TAGS = (0x7FE00010, 0x7FE00009, 0x7FE00008)
SIGNED_AS_PIXELS = (0x00280120, 0x00280121)  # padding: its type depends on PixelRepresentation
PRIVATE_BIT = 0x10000  # of a tag: its group is odd
ITEM = 0xFFFEE000
ITEM_END = b"\xfe\xff\x0d\xe0"
SEQUENCE_END = 0xFFFEE0DD
PADDING = b"\xfc\xff\xfc\xff"  # the tag of bytes after the pixels
IMPLICIT_SYNTAX = b"1.2.840.10008.1.2"
NATIVE_SYNTAXES = IMPLICIT_SYNTAX, b"1.2.840.10008.1.2.1"
COMPRESSED_SYNTAXES = b"1.2.840.10008.1.2.4.", b"1.2.840.10008.1.2.5"  # explicit, all of them
_unpack_explicit = Struct("<HH2sH").unpack_from
_unpack_implicit = Struct("<HHL").unpack_from
_unpack_length = Struct("<L").unpack_from

Element = tuple[str | None, bytes]
"""The value representation of an element, None if it is not stated, and its bytes."""


@dataclass(frozen=True)
class PlainHeader:
    """Elements of an object, by tag; it is asked for values as a pydicom dataset.

    pixel_start, pixel_length  of the value of its pixel element in the file, in bytes
    pixel_tag                  of that element
    """

    elements: dict[int, Element]
    is_implicit: bool
    syntax: bytes = b""
    pixel_tag: int = 0
    pixel_start: int = 0
    pixel_length: int = 0

    def get(self, name: str | int) -> Any:
        """The value of an element by keyword or tag; None if there is none.  May raise whatever
        pydicom raises for a value that it cannot convert."""
        tag = name if isinstance(name, int) else tag_of(name)
        element = self.elements.get(tag)
        if element is None:
            return None
        if tag & PRIVATE_BIT:  # its type depends on the block's creator
            return self._dataset.get(tag)
        if tag in SIGNED_AS_PIXELS:
            return self._dataset[tag].value
        return convert_value(tag, element, self.elements.get(CHARACTER_SET), self.is_implicit)

    def ends_with_pixels(self, content: bytes) -> bool:
        """Whether nothing but padding follows the pixels in the bytes of the file."""
        pixel_end = self.pixel_start + self.pixel_length
        if self.pixel_tag != PIXEL_TAGS[0] or self.syntax not in NATIVE_SYNTAXES:
            return False
        if pixel_end == len(content):
            return True
        length_start = pixel_end + 8 - 4 * self.is_implicit
        if content[pixel_end : pixel_end + 4] != PADDING or len(content) < length_start + 4:
            return False
        (padding_length,) = _unpack_length(content, length_start)
        return bool(length_start + 4 + padding_length == len(content))

    def __contains__(self, keyword: str) -> bool:
        tag = tag_of(keyword)
        return tag in self.elements or tag == self.pixel_tag

    @cached_property
    def groups(self) -> set[int]:
        """The groups of its elements."""
        return {tag >> 16 for tag in self.elements}

    @cached_property
    def _dataset(self) -> Any:
        return _make_dataset(self.elements, self.is_implicit)


@cache
def tag_of(keyword: str) -> int:
    """The tag of an attribute; 0 for none."""
    from pydicom.datadict import tag_for_keyword

    return tag_for_keyword(keyword) or 0


def _make_dataset(elements: dict[int, Element], is_implicit: bool) -> Any:
    """A pydicom dataset of these elements."""
    from pydicom.dataset import Dataset

    raw_elements = (
        _make_raw_element(tag, element, is_implicit) for tag, element in elements.items()
    )
    return Dataset({raw_element.tag: raw_element for raw_element in raw_elements})


def _make_raw_element(tag: int, element: Element, is_implicit: bool) -> Any:
    from pydicom.dataelem import RawDataElement, empty_value_for_VR
    from pydicom.tag import BaseTag

    value_type, value = element
    raw_value: Any = value or empty_value_for_VR(value_type, raw=True)
    return RawDataElement(BaseTag(tag), value_type, len(value), raw_value, 0, is_implicit, True)


@lru_cache(maxsize=4096)
def convert_value(
    tag: int, element: Element, character_set: Element | None, is_implicit: bool
) -> Any:
    """The value of an element, as pydicom converts it; most of a series are alike."""
    from pydicom.dataelem import convert_raw_data_element

    raw_element = _make_raw_element(tag, element, is_implicit)
    encoding = None
    if tag != CHARACTER_SET:
        encoding = _list_encodings(character_set)
    return convert_raw_data_element(raw_element, encoding=encoding).value


@lru_cache(maxsize=16)
def _list_encodings(character_set: Element | None) -> Any:
    """Python's names of a character set, in pydicom's form."""
    from pydicom.charset import convert_encodings, default_encoding

    if character_set is None:
        return default_encoding
    return convert_encodings(convert_value(CHARACTER_SET, character_set, None, False))


@cache
def _types_of_tags(tags: tuple[int, ...]) -> dict[int, tuple[bytes, ...] | None]:
    """The value representations that an element may state, by tag; none for a sequence, any (None)
    for a private element."""
    from pydicom.datadict import dictionary_VR

    types_by_tag: dict[int, tuple[bytes, ...] | None] = {CHARACTER_SET: (b"CS",)}
    for tag in tags:
        types_by_tag[tag] = None
        if not tag & PRIVATE_BIT:
            dictionary_types = dictionary_VR(tag).split(" or ")
            types_by_tag[tag] = tuple(name.encode() for name in dictionary_types if name != "SQ")
    return types_by_tag


@cache
def _long_by_type() -> dict[bytes, bool]:
    """By value representation, whether its length takes four bytes."""
    from pydicom.valuerep import EXPLICIT_VR_LENGTH_16, EXPLICIT_VR_LENGTH_32

    short_types = {name.encode(): False for name in EXPLICIT_VR_LENGTH_16}
    return short_types | {name.encode(): True for name in EXPLICIT_VR_LENGTH_32}


def find_elements(file: BinaryIO, opening: bytes, tags: tuple[int, ...]) -> PlainHeader | None:
    """The elements of these tags before the pixels of a file; None if it is not plain.

    opening  its first bytes, or all of them
    """
    try:
        return _walk(file, opening, _types_of_tags(tags))
    except Exception:  # pydicom reads it, or says why not
        return None


def _walk(
    file: BinaryIO, buffer: bytes, types_by_tag: dict[int, tuple[bytes, ...] | None]
) -> PlainHeader:
    """As `find_elements`.  Raises struct.error, or whatever pydicom raises for its character set, if it
    is not plain."""
    syntax, position = _read_meta(buffer)
    is_implicit = syntax == IMPLICIT_SYNTAX
    first_type = buffer[position + 4 : position + 6]
    if buffer[position : position + 2] == b"\0\0" or is_implicit == first_type.isalpha():
        raise error("commands, or another encoding")
    elements: dict[int, Element] = {}
    buffer_start = 0  # of the buffer in the file

    def reach(first_byte: int, length: int) -> int:
        """Where in the buffer a byte of it is when so many follow, as far as the file has them."""
        nonlocal buffer, buffer_start
        if first_byte + length <= len(buffer):
            return first_byte
        buffer_start += first_byte
        file.seek(buffer_start)
        buffer = file.read(max(OPENING_BYTES, length))
        return 0

    while True:
        position = reach(position, 12)
        tag, value_type, start, length = _read_element(buffer, position, is_implicit)
        if tag in PIXEL_TAGS:
            _list_encodings(elements.get(CHARACTER_SET))
            return PlainHeader(
                elements=elements,
                is_implicit=is_implicit,
                syntax=syntax,
                pixel_tag=tag,
                pixel_start=buffer_start + start,
                pixel_length=length,
            )
        is_wanted = tag in types_by_tag
        if tag >= ITEM or (is_wanted and length == UNDEFINED_LENGTH):
            raise error("no plain element")
        if length == UNDEFINED_LENGTH:
            start = reach(start, SEQUENCE_BYTES)
            position = _skip_items(buffer, start, value_type, MAX_LEVELS)
        elif not is_wanted:
            position = start + length
        else:
            start = reach(start, length)
            position = start + length
            types = types_by_tag[tag]
            if types is not None and not (value_type in types if value_type else types):
                raise error("not the dictionary's value representation")
            if position > len(buffer):
                raise error("cut short")
            type_name = value_type.decode() if value_type else None
            elements[tag] = (type_name, buffer[start:position])


def _read_element(
    buffer: bytes, position: int, is_implicit: bool
) -> tuple[int, bytes | None, int, int]:
    """(tag, value representation if stated, first byte, length) of the element at a position.  Raises
    struct.error for one that does not exist."""
    if is_implicit:
        group, number, length = _unpack_implicit(buffer, position)
        return group << 16 | number, None, position + 8, length
    group, number, value_type, length = _unpack_explicit(buffer, position)
    start = position + 8
    is_long = _long_by_type().get(value_type)
    if is_long is None:
        raise error("no value representation")
    if is_long:
        (length,) = _unpack_length(buffer, start)
        start += 4
    return group << 16 | number, value_type, start, length


def _read_meta(buffer: bytes) -> tuple[bytes, int]:
    """The transfer syntax in the file meta information, and where that ends.  Raises struct.error if it
    is not plain."""
    syntax = b""
    position = PREAMBLE_BYTES
    if not has_preamble(buffer):
        raise error("no preamble")
    while buffer[position : position + 2] == b"\x02\x00":
        tag, _, start, length = _read_element(buffer, position, is_implicit=False)
        position = start + length
        if tag == SYNTAX_TAG:
            syntax = buffer[start:position].rstrip(b"\0")
    if not (syntax in NATIVE_SYNTAXES or syntax.startswith(COMPRESSED_SYNTAXES)):
        raise error("another transfer syntax")
    return syntax, position


def _skip_items(buffer: bytes, position: int, value_type: bytes | None, levels: int) -> int:
    """Where a sequence of undefined length ends whose first item begins at a position.  Raises
    struct.error if it is none, or not within the buffer.

    value_type  stated for it; None if it is implicit
    levels      how many of sequences within sequences there may be
    """
    if value_type not in (None, b"SQ") or not levels:
        raise error("no sequence")
    is_implicit = value_type is None
    while True:
        tag, _, position, length = _read_element(buffer, position, is_implicit=True)
        if tag == SEQUENCE_END:
            return position
        if tag != ITEM:
            raise error("no item")
        end = position + length
        while position != end:
            if length == UNDEFINED_LENGTH and buffer[position : position + 4] == ITEM_END:
                position += 8
                break
            _, inner_type, start, inner_length = _read_element(buffer, position, is_implicit)
            position = start + inner_length
            if inner_length == UNDEFINED_LENGTH:
                position = _skip_items(buffer, start, inner_type, levels - 1)
            if position > min(end, len(buffer)):
                raise error("beyond its item")
