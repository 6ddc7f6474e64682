"""Zip archives that are documents, programs or arrays, and no archives of images: by the members
that all of their kind have, or by suffix.

Sources: ECMA-376-2 (Office: [Content_Types].xml), OpenDocument 1.3 and EPUB OCF (mimetype), the JAR
specification (META-INF/MANIFEST.MF), PEP 427 (wheels), OGC KML 2.3 (KMZ).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePath

MEMBER_PATTERNS = tuple(
    (re.compile(names), kind)
    for names, kind in (
        (r"\[Content_Types\]\.xml|_rels/\.rels", "an Office document"),
        (r"(base/manifest/)?AndroidManifest\.xml", "an Android package"),
        (r"META-INF/(MANIFEST\.MF)?", "a Java archive"),
        (r"mimetype", "an OpenDocument or EPUB document"),
        (r"[^/]+\.dist-info/WHEEL|EGG-INFO/PKG-INFO", "a Python package"),
        (r"Payload/[^/]+\.app/.*", "an iOS package"),
        (r"Index/Document\.iwa|Index\.zip", "an iWork document"),
        (r"[^/]+\.kml", "a map"),
    )
)
DOCUMENT_SUFFIX = re.compile(
    r"\.(doc[xm]|dot[xm]|xls[xmb]|xlt[xm]|pp[ts][xm]|pot[xm]|vsdx|o?xps|od[tspgfb]|ot[tsp]|epub"
    r"|pages|numbers|key|[jwe]ar|aar|aab|apks?|xapk"
    r"|ipa|whl|egg|xpi|crx|vsix|nupkg|npz|kmz|pth?|ckpt|keras|3mf|sketch|[ms]lx|cbz|kra|ora|h5p)",
    re.IGNORECASE,
)


def document_kind_of_members(members: Collection[str]) -> str:
    """What a zip archive with these members is, "an Office document" for example; "" if it may be
    an archive of images."""
    if members and all(name.endswith(".npy") for name in members):
        return "a file of NumPy arrays"
    return next((kind for names, kind in MEMBER_PATTERNS if any(map(names.fullmatch, members))), "")


def is_document(name: str, opening: bytes) -> bool:
    """Whether a zip archive is a document, from its name and first bytes alone: those name its
    first member."""
    name_length = int.from_bytes(opening[26:28], "little")
    return has_document_suffix(name) or bool(
        document_kind_of_members([opening[30 : 30 + name_length].decode("utf-8", "replace")])
    )


def has_document_suffix(name: str) -> bool:
    """Whether the suffix is that of a document, program or array."""
    return bool(DOCUMENT_SUFFIX.fullmatch(PurePath(name).suffix))
