"""JPEG, JPEG-LS and JPEG 2000 pixel data, decoded in a child process.

GDCM 3.2 terminates the whole process for certain kinds of damaged JPEG data ("terminate called
after throwing ... gdcm::Exception", found with the 686th randomly changed file;
tests/volume/dicom/test_fuzz.py keeps it), and libjpeg fills what it cannot decode with grey and
reports it on stderr only.  Hence the child process: its death and messages of damage on its stderr
both count as damaged data. One child serves a whole volume; it takes 0.6 s to start.

    requests   one line of JSON per object: path, member, indices of frames (null for an object of a
               single frame)
    responses  for each frame one line of JSON with shape, dtype and number of bytes, then the
               bytes; or one with the reason of failure
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import read_dataset, without_warnings
from fovnet.volume.dicom.source import DicomObject

if TYPE_CHECKING:
    from pydicom.uid import UID

ENDED_REASON = "the decoder ended"
UNSUPPORTED_REASON = "no decoder"
DECOMPRESS_HINT = "Decompress the series with its archive's tools, or gdcmconv --raw."
PACKAGE_PARENT = Path(__file__).resolve().parents[3]  # where fovnet lies
DECODED_BITS = (8, 16, 32)  # bits that a decoded pixel may take
UNSUPPORTED_WORDS = re.compile(
    r"\w+: .*(does not support|Unable to decode (un)?signed|cannot decode|are supported).*"
)
"""What pydicom's plugins say of data that they do not try to decode."""
DAMAGE_WORDS = re.compile(
    rb"premature end|bad Huffman|Bogus|Unsupported marker|Invalid JPEG|Corrupt JPEG data: [a-z]"
)


class Decoder:
    """A decoding child process, started when the first object needs it, and ended by `close`."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def decode_planes(
        self, dicom_object: DicomObject, indices: Sequence[int | None]
    ) -> list[NDArray[Any]]:
        """The stored values of these frames.

        Raises VolumeError "volume-transfer-syntax" if no decoder here is made for them,
        "volume-corrupt" if they cannot be decoded, or the child crashes; MemoryError if the child
        ran out of memory, or was killed by SIGKILL, as a system short of memory does.
        """
        child = self._child or self._start_child()
        assert child.stdin is not None and child.stdout is not None
        request = {
            "path": str(dicom_object.path.absolute()),
            "member": dicom_object.member_name,
            "indices": list(indices),
        }
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            planes = []
            for _ in indices:
                response = json.loads(child.stdout.readline() or json.dumps({"why": ENDED_REASON}))
                if "why" in response:
                    raise ValueError(response["why"])
                stored_values = np.frombuffer(
                    child.stdout.read(response["bytes"]), dtype=response["dtype"]
                )
                planes.append(stored_values.reshape(response["shape"]))
        except (ValueError, OSError) as fault:
            has_ended = isinstance(fault, OSError) or str(fault) == ENDED_REASON
            is_killed = has_ended and _exit_status(child) == -signal.SIGKILL
            self.close()
            if is_killed or str(fault) == MemoryError.__name__:
                raise MemoryError(str(fault)) from fault
            if str(fault) == UNSUPPORTED_REASON:
                raise VolumeError(
                    "volume-transfer-syntax",
                    f"{dicom_object}: no decoder here reads this variant of its transfer syntax. "
                    f"{DECOMPRESS_HINT}",
                ) from fault
            reason = type(fault).__name__
            if isinstance(fault, ValueError) and len(str(fault)) < 60:
                reason = str(fault)
            raise VolumeError(
                "volume-corrupt",
                f"{dicom_object}: the compressed pixel data cannot be decoded ({reason}). Copy it again, or "
                "decompress it elsewhere (gdcmconv --raw).",
            ) from fault
        return planes

    def _start_child(self) -> subprocess.Popen[bytes]:
        """The child process, started with pipes for requests and responses."""
        # -P: the current folder, with unknown contents, is not searched for modules; pydicom may be
        # installed in PYTHONPATH
        module_folders = [
            str(PACKAGE_PARENT),
            *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
        ]
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(module_folders)},
        )
        return self._child

    def close(self) -> None:
        """Ends the child, if there is one."""
        child = self._child
        if child is None:
            return
        self._child = None
        child.kill()
        for stream in filter(None, (child.stdin, child.stdout)):
            with suppress(OSError):  # unwritten data for a dead child
                stream.close()
        child.wait()


def _exit_status(child: subprocess.Popen[bytes]) -> int | None:
    """The exit status of a child that no longer answers, negative for a signal; None if it has not
    ended within 5 s."""
    with suppress(subprocess.TimeoutExpired):
        return child.wait(timeout=5.0)
    return None


def answer_requests(requests: IO[bytes], responses: IO[bytes]) -> None:
    """The child's loop: answers requests until the input ends; stderr goes to a file, which
    `_decode_request` searches for messages of damage."""
    with tempfile.TemporaryFile() as stderr:
        os.dup2(stderr.fileno(), 2)
        for request_line in requests:
            _decode_request(json.loads(request_line), responses)
            responses.flush()


def _decode_request(request: dict[str, Any], responses: IO[bytes]) -> None:
    """Writes each plane of one object, or the reason why it cannot be decoded."""
    from pydicom.pixels.utils import pixel_array

    add_plugins()
    dataset = None
    for frame_index in request["indices"]:
        stderr_start = os.fstat(2).st_size
        try:
            with without_warnings():
                dataset = dataset or read_dataset(
                    DicomObject(Path(request["path"]), request["member"]), with_pixels=True
                )
                stored_values = np.ascontiguousarray(
                    pixel_array(dataset, index=frame_index, raw=True)
                )
        except Exception as fault:  # decoders raise any exception for data they cannot decode
            reason = type(fault).__name__
            if _is_unsupported(fault):
                reason = UNSUPPORTED_REASON
            responses.write(_json_line({"why": reason}))
            return
        if DAMAGE_WORDS.search(os.pread(2, 1 << 16, stderr_start)):
            responses.write(_json_line({"why": "the decoder says they are damaged"}))
            return
        response = {
            "shape": stored_values.shape,
            "dtype": stored_values.dtype.str,
            "bytes": stored_values.nbytes,
        }
        responses.write(_json_line(response) + stored_values.tobytes())


def _json_line(response: dict[str, Any]) -> bytes:
    return json.dumps(response).encode() + b"\n"


def _is_unsupported(fault: Exception) -> bool:
    """Whether every decoder declined to try: "no decoder" is no damage.  pydicom raises
    NotImplementedError where it knows of none."""
    # pydicom: "Unable to decode as ...:", then a line for each plugin
    plugin_lines = str(fault).splitlines()[1:]
    return isinstance(fault, NotImplementedError) or (
        bool(plugin_lines)
        and all(UNSUPPORTED_WORDS.fullmatch(plugin_line.strip()) for plugin_line in plugin_lines)
    )


@cache
def add_plugins() -> None:
    """Routes to GDCM what it decodes and pydicom 3.0 does not send there: 12-bit JPEG Extended
    (process 4), and High-Throughput JPEG 2000.

    GDCM's 12-bit pixels are those of DCMTK and dcm4che (github.com/tfmoraes/python-gdcm/issues/35).
    """
    from pydicom.pixels.decoders import base

    for pydicom_decoder in (
        base.JPEGExtended12BitDecoder,
        base.HTJ2KLosslessDecoder,
        base.HTJ2KLosslessRPCLDecoder,
        base.HTJ2KDecoder,
    ):
        if is_available(pydicom_decoder.UID):
            pydicom_decoder.add_plugin("routed", (__name__, "decode_by_gdcm"))


def list_decodable_syntaxes() -> list[UID]:
    """The transfer syntaxes of images that are decoded here, the cheapest to read first.

    It is asked of the decoders, so that what the node's door offers is what the reader reads.
    Deflated data sets are read from files, and left out here: their few bytes may unpack to any
    number.
    """
    from pydicom.pixels.decoders.base import get_decoder
    from pydicom.uid import AllTransferSyntaxes, ExplicitVRLittleEndian

    add_plugins()
    decodable: list[UID] = []
    for syntax in AllTransferSyntaxes:
        with suppress(NotImplementedError):  # pydicom knows of no decoder for it
            if get_decoder(syntax).is_available and not syntax.is_deflated:
                decodable.append(syntax)
    return sorted(
        decodable, key=lambda syntax: (syntax.is_compressed, syntax != ExplicitVRLittleEndian)
    )


def is_available(syntax: str) -> bool:
    """Whether GDCM is there and knows the syntax: pydicom asks the module of a plugin."""
    from pydicom.pixels.decoders import gdcm as gdcm_plugin

    if not gdcm_plugin.HAVE_GDCM:
        return False
    import gdcm

    return bool(gdcm.TransferSyntax.GetTSType(str.__str__(syntax)) != gdcm.TransferSyntax.TS_END)


def decode_by_gdcm(encoded: bytes, runner: Any) -> bytes:
    """One frame of grey; raises ValueError for data that GDCM does not decode.

    JPEG Extended comes as 16-bit words.  JPEG 2000 comes in the container of the precision that its
    own header states, which may be wider than the bits that the data set says are stored.
    """
    import gdcm
    from pydicom.uid import JPEGExtended12Bit

    stored_bits = 12
    allocated_bits = 16
    if runner.transfer_syntax != JPEGExtended12Bit:
        stored_bits = runner.get_option("j2k_precision", runner.bits_stored)
        allocated_bits = next(bits for bits in DECODED_BITS if stored_bits <= bits)
        runner.set_option("bits_allocated", allocated_bits)
    fragments = gdcm.SequenceOfFragments.New()
    fragment = gdcm.Fragment()
    fragment.SetByteStringValue(encoded)
    fragments.AddFragment(fragment)
    element = gdcm.DataElement(gdcm.Tag(0x7FE0, 0x0010))
    element.SetValue(fragments.__ref__())
    image = gdcm.Image()
    image.SetNumberOfDimensions(2)
    image.SetDimensions((runner.columns, runner.rows, 1))
    image.SetDataElement(element)
    image.SetPhotometricInterpretation(
        gdcm.PhotometricInterpretation(gdcm.PhotometricInterpretation.MONOCHROME2)
    )
    gdcm_syntax = gdcm.TransferSyntax.GetTSType(str.__str__(runner.transfer_syntax))
    image.SetTransferSyntax(gdcm.TransferSyntax(gdcm_syntax))
    image.SetPixelFormat(
        gdcm.PixelFormat(
            1, allocated_bits, stored_bits, stored_bits - 1, runner.pixel_representation
        )
    )
    return bytes(image.GetBuffer().encode("utf-8", "surrogateescape"))  # GDCM gives char* as str


if __name__ == "__main__":
    answer_requests(sys.stdin.buffer, sys.stdout.buffer)
