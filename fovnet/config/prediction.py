"""The settings of a prediction as a workflow: an archive, and how it is answered shard by shard."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, StringConstraints

from fovnet.choices import IncludableSeries
from fovnet.config.section import Section

Place = Annotated[str, StringConstraints(min_length=1)]


class Prediction(Section):
    """What `fovnet shard` is told, as its options: places, settings of the whole, and how a step
    works.

    paths              files, folders, trees and zip archives
    answers            the folder of answers
    model              an ensemble folder; "shipped": the networks of the package
    volumes_per_shard  on average; of new volumes, as shards are never cut anew
    workers            processes that read ahead in a shard's job, which is given as many cores
    """

    paths: list[Place] = Field(min_length=1)
    answers: Place
    model: Place = "shipped"
    volumes_per_shard: PositiveInt = 200
    include: list[IncludableSeries] = []
    show_ids: bool = False
    pictures: bool = True
    pages: bool = True
    faces: bool = True
    workers: PositiveInt = 1
    device: Literal["auto", "cpu", "cuda"] = "auto"
    engine: Literal["auto", "torch", "onnx"] = "auto"
