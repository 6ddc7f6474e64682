"""Identifiers in the output of fovnet: by default the first twelve hexadecimal digits of a hash.

Subject ids are hashed in all output; volume ids and file names in reports (evaluation tables, page,
figures). The working tables of slices and answers keep volume_id and path, so that the file can be
found; `manifest.tsv` has both ids of a volume, and must therefore stay with the data.

Without a key the hash is the SHA-256 of the id alone: a subject has the same hash in every results
folder and on every machine, so that results can be joined and reproduced to the byte.  It does not
protect against somebody who hashes a list of possible ids and compares. For reports that such a
person may get, put a secret into `identifiers.key` in the results folder (for instance `openssl
rand -hex 32`); the hash is then an HMAC with this key.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from fovnet.errors import ConfigError
from fovnet.volume.dicom.address import split_address

HASH_DIGITS = 12  # 48 bits: a collision among 100 000 subjects has a probability of 2e-5
KEY_FILE_NAME = "identifiers.key"


@dataclass(frozen=True)
class Identifiers:
    """How ids are written: unchanged if `is_plain`, else hashed, with `secret_key` if there
    is one."""

    is_plain: bool = False
    secret_key: bytes = b""

    def written_id(self, identifier: str) -> str:
        """The id as it is written."""
        if self.is_plain:
            return identifier
        identifier_bytes = identifier.encode()
        if self.secret_key:
            return hmac.new(self.secret_key, identifier_bytes, hashlib.sha256).hexdigest()[
                :HASH_DIGITS
            ]
        return hashlib.sha256(identifier_bytes).hexdigest()[:HASH_DIGITS]


def read_identifiers(setting: str, results: Path) -> Identifiers:
    """How the ids of a results folder are written, from the setting "hashed" or "plain" and the key
    in the folder, if there is one.

    Raises ConfigError "identifiers-key" if the key is empty: it would not give the protection that
    the file suggests.
    """
    try:
        key = (results / KEY_FILE_NAME).read_bytes().strip()
    except FileNotFoundError:
        return Identifiers(setting == "plain")
    if not key:
        raise ConfigError(
            "identifiers-key",
            f"{results / KEY_FILE_NAME}: is empty; write a secret into it, or remove the file",
        )
    return Identifiers(setting == "plain", key)


QUOTED_TEXT = re.compile(r"(?<!\w)'[^'\n]*'(?!\w)")
PATH_CHARACTERS = r"[^\s:;,()'\[\]]*"
FILE_ENDINGS = "raw|zraw|img|hdr|mat|nii|gz|dcm|mhd|mha|nrrd|nhdr"
OTHER_FILE_NAMES = re.compile(
    rf"(?<![\w.(/-])(?!OUT\b)\w{PATH_CHARACTERS}(?:[/\\^]{PATH_CHARACTERS}|\.(?:{FILE_ENDINGS})\b)"
)
"""Other names in a message about a file: the other file of a pair, an image in its folder, a
header's word with / \\ or ^ (DOE^JANE)."""


def hide_names(message: str, path: str, volume_id: str, report_name: str) -> str:
    """The message with the volume's path, file name and id replaced by `report_name`, and other
    file names and quotations from headers, which may identify the patient, by "…"; unchanged if the
    volume is shown under its own id."""
    if report_name == volume_id:
        return message
    volume_file = split_address(Path(path))[0]
    names_to_hide = {
        path,
        str(volume_file),
        volume_file.name,
        volume_file.name.split(".")[0],
        volume_id,
    } - {"", "."}
    for name_to_hide in sorted(names_to_hide, key=len, reverse=True):
        # whole words: a volume may be called "a"
        whole_word_pattern = rf"(?<!\w){re.escape(name_to_hide)}(?!\w)(?:[/#][^\s:;,]*)?"
        message = re.sub(whole_word_pattern, report_name, message)
    return QUOTED_TEXT.sub("'…'", OTHER_FILE_NAMES.sub("…", message))
