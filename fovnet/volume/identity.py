"""Names of people in what fovnet writes: by default none, but the first twelve hexadecimal digits of a hash.

Subjects are hashed in everything that is written; volumes and their files in what leaves the machine as a report (evaluation tables,
page, figures).  The working tables of slices and answers keep volume_id and path, without which nobody would find the file again;
`manifest.tsv` holds both names of a volume, and so stays where the data are.

Without a key the hash is SHA-256 of the id alone: the same subject has the same name in every results folder and on every machine, so
results can be joined and repeated to the byte.  It keeps names out of sight; whoever has a list of possible ids can hash them all and
compare.  Where reports go to somebody who might, put a secret into `identifiers.key` in the results folder (for instance
`openssl rand -hex 32`), and the hash becomes an HMAC with it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from pathlib import Path

from fovnet.errors import ConfigError
from fovnet.volume.dicom.address import split_address

DIGITS = 12             # 48 bits: a collision among 100 000 subjects has a probability of 2e-5
KEY_FILE = "identifiers.key"


@dataclass(frozen=True)
class Identifiers:
    """How ids are written: `plain` as they are, else hashed, with `key` where there is one."""

    plain: bool = False
    key: bytes = b""

    def shown(self, identifier: str) -> str:
        """The id as it is written."""
        if self.plain:
            return identifier
        digest = hmac.new(self.key, identifier.encode(), hashlib.sha256) if self.key else hashlib.sha256(identifier.encode())
        return digest.hexdigest()[:DIGITS]


def read_identifiers(setting: str, results: Path) -> Identifiers:
    """How the ids of a results folder are written: by the setting, "hashed" or "plain", and the key in the folder if there is one.

    Raises ConfigError "identifiers-key" where the key is empty: who made the file believes that nobody can try out ids.
    """
    try:
        key = (results / KEY_FILE).read_bytes().strip()
    except FileNotFoundError:
        return Identifiers(setting == "plain")
    if not key:
        raise ConfigError("identifiers-key", f"{results / KEY_FILE}: is empty, wanted is a secret; write one into it, or remove the file")
    return Identifiers(setting == "plain", key)


QUOTED = re.compile(r"(?<!\w)'[^'\n]*'(?!\w)")
WORD = r"[^\s:;,()'\[\]]*"
ENDINGS = "raw|zraw|img|hdr|mat|nii|gz|dcm|mhd|mha|nrrd|nhdr"
OTHER_FILES = re.compile(rf"(?<![\w.(/-])(?!OUT\b)\w{WORD}(?:[/\\^]{WORD}|\.(?:{ENDINGS})\b)")
"""What else a sentence about a file may name: words out of its header, the file's other half, an image in its folder."""


def scrubbed(message: str, path: str, volume_id: str, shown: str) -> str:
    """The message with the volume's path, file name and id replaced by the name it is shown under, and other files and what is quoted from
    headers, which may name the patient, by dots."""
    if shown == volume_id:
        return message
    place = split_address(Path(path))[0]
    names = {path, str(place), place.name, place.name.split(".")[0], volume_id} - {"", "."}
    for name in sorted(names, key=len, reverse=True):
        within = rf"(?<!\w){re.escape(name)}(?!\w)(?:[/#][^\s:;,]*)?"              # whole words: a volume may be called "a"
        message = re.sub(within, shown, message)
    return QUOTED.sub("'…'", OTHER_FILES.sub("…", message))
