"""The parts of a multipart answer of HTTP (RFC 2046, 5.1), as they come: an object of gigabytes never
lies in memory whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

HEADERS_END = b"\r\n\r\n"


class Parts:
    """The bodies of the parts, each an iterator of pieces that is to be read to its end before the
    next.  Raises ValueError where the answer ends before its last boundary.

    chunks  the answer, cut anywhere
    """

    def __init__(self, chunks: Iterable[bytes], boundary: bytes) -> None:
        self._chunks = iter(chunks)
        self._delimiter = b"\r\n--" + boundary
        self._buffer = bytearray(b"\r\n")  # a first boundary need not have a line before it

    def __iter__(self) -> Iterator[Iterator[bytes]]:
        for _ in self._pieces_until(self._delimiter):
            pass
        while self._begins_part():
            yield self._pieces_until(self._delimiter)

    def _begins_part(self) -> bool:
        """Whether a part follows, whose headers are then read over."""
        while len(self._buffer) < 2:
            self._read_on()
        if self._buffer[:2] == b"--":
            return False
        for _ in self._pieces_until(HEADERS_END):
            pass
        return True

    def _pieces_until(self, mark: bytes) -> Iterator[bytes]:
        """What comes before a mark, which is then read over."""
        while (position := self._buffer.find(mark)) < 0:
            sure_length = len(self._buffer) - len(mark) + 1  # the rest may begin a mark
            if sure_length > 0:
                yield bytes(self._buffer[:sure_length])
                del self._buffer[:sure_length]
            self._read_on()
        if position:
            yield bytes(self._buffer[:position])
        del self._buffer[: position + len(mark)]

    def _read_on(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise ValueError("ends within a part")
        self._buffer += chunk
