"""The settings of a DICOM node, in a file of its own or as options of `fovnet node`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, PositiveInt

from fovnet.choices import IncludableSeries
from fovnet.config.section import Section


class NodeOptions(Section):
    """What `fovnet node` is told: each key is the option of its name, whose help says what it means.

    from  is a word of Python's, and so the field is called `callers`
    """

    out: Path
    aet: str = "FOVNET"
    port: int = Field(11112, ge=0, le=65535)
    bind: str = ""
    to: str = ""
    callers: list[str] = Field([], alias="from")
    rest: float = Field(30, ge=0.1)
    longest: float = Field(900, ge=1)
    keep: float = Field(24, ge=0)
    give_up: float = Field(168, ge=0.01)
    reserve: float = Field(2, ge=0)
    largest: float = Field(1, ge=0.001)
    associations: PositiveInt = 16
    idle: float = Field(60, ge=1)
    page: int = Field(11180, ge=-1, le=65535)
    faces: bool = True
    log_format: Literal["text", "json"] = "text"
    show_ids: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    to_tls: bool = False
    model: Path = Path("shipped")
    device: Literal["auto", "cpu", "cuda"] = "auto"
    include: list[IncludableSeries] = []
    engine: Literal["auto", "torch", "onnx"] = "auto"
