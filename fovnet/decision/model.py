"""Prediction from Python.

>>> import fovnet
>>> model = fovnet.load()                                               # doctest: +SKIP
>>> answer = model.predict("scan.nii.gz")                               # doctest: +SKIP
>>> answer.status, answer.regions, round(answer.confidence, 2)          # doctest: +SKIP
('ok', ('abdomen', 'chest'), 0.96)

The answers are those of `fovnet predict`: the same reading, the same networks, the same decision.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from fovnet.decision.answer import AnsweredVolume, answer_facts, make_refusal, table_rows
from fovnet.decision.chain.spans import Span
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.predict import predict_volumes, refuse_unforeseen
from fovnet.decision.statements import NO, UNSURE, YES
from fovnet.errors import ConfigError, VolumeError
from fovnet.records import as_json_type
from fovnet.results import shipped_folder
from fovnet.volume.sources.discovery import find_volumes, name_volumes
from fovnet.volume.sources.in_memory import IN_MEMORY_NAME, write_temporary_file
from fovnet.volume.sources.source import Source, source_of

if TYPE_CHECKING:
    from nibabel.spatialimages import SpatialImage

File = str | PathLike[str]


@dataclass(frozen=True)
class Prediction:
    """The answer on one volume.

    status      "ok": of every region it is sure whether the volume shows it; "partly": of some;
                "uncertain": of none; or "refused"
    message     gives the reasons
    code        the codes of the doubts or of the error
    spans       (region, from_mm, to_mm, confidence, ...) each, feet to head, in scanner
                millimetres; regions are their names.  Their first and last are numbers of the cuts;
                those of the volume's own slices are first_slice and last_slice in to_dict()["rows"]
    confidence  mean probability of the slices' predicted classes, 0 to 1, without black margins; 0
                where refused
    """

    volume_id: str
    path: str
    status: str
    message: str
    code: str
    confidence: float
    spans: tuple[Span, ...]
    _facts: Mapping[str, Any] = field(repr=False, compare=False)
    _part_names: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the regions shown, in the order of the spans, each once; empty if there are
        none or the volume was refused."""
        return tuple(dict.fromkeys(span.region for span in self.spans))

    def shows(self, region: str) -> bool | None:
        """Whether the volume surely shows this region or part of one (True), or surely not (False);
        None where that is not sure, where it was refused, and by networks that an earlier fovnet tuned.

        Raises ConfigError ("region-unknown") for a name that is no region of the model.
        """
        return {YES: True, NO: False}.get(self._statement_on(region).get("answer", UNSURE))

    def probability(self, region: str) -> float | None:
        """The probability that at least 10 mm (the rule's `min_extent_mm`) of this region are in
        the picture; None and raises as `shows`."""
        probability: float | None = self._statement_on(region).get("probability")
        return probability

    def _statement_on(self, region: str) -> Mapping[str, Any]:
        """What is said of a region or part of one; empty where nothing is said region by region."""
        regions = [*self._facts["classes"][:-1], *self._part_names]
        if region not in regions:
            raise ConfigError(
                "region-unknown",
                f"{region!r}: is not a region of this model, which has {', '.join(regions)}",
            )
        statements = self._facts.get("statements", ())
        for statement in (*statements, *self._facts.get("parts", ())):
            if statement["region"] == region:
                return dict(statement)
        return {}

    def to_dict(self) -> dict[str, Any]:
        """The complete answer in JSON types: `rows` of spans.tsv, and the content of
        `<volume_id>.json` of `fovnet predict` without `fovnet`, `file` and `faces`, which concern
        its files."""
        plain_facts: dict[str, Any] = json.loads(json.dumps(self._facts, default=as_json_type))
        return plain_facts


class Model:
    """An ensemble ready for prediction.  Made by `fovnet.load`."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of its regions, feet to head, side regions last."""
        return self._ensemble.vocabulary.classes[:-1]

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts of its regions, feet to head; none where it says nothing of parts."""
        return self._ensemble.network_vocabulary.part_names

    @property
    def identity(self) -> str:
        """A string that changes when a file of the ensemble does."""
        return self._ensemble.identity

    def predict(
        self, volume: File | SpatialImage | NDArray[Any], affine: ArrayLike | None = None
    ) -> Prediction:
        """The answer on one volume.  What cannot be read gets the status "refused", and so does a
        folder or an archive that holds several volumes.

        volume  a path, of a file or of the folder of a DICOM series; a nibabel image; or an array
                (i, j, k) of real numbers
        affine  of an array: (4, 4), from its indices to scanner millimetres, x to the right, y to
                the front, z to the head
        The path of an answer on an image or array is empty.
        """
        if not isinstance(volume, str | PathLike):
            return self._predict_image(volume, affine)
        return self._predict_path(volume)

    def _predict_image(self, image: Any, affine: ArrayLike | None) -> Prediction:
        """The answer on an image or array, without a path in it; `affine` as in `predict`."""
        try:
            with write_temporary_file(image, affine) as path:
                prediction = self._predict_path(path)
        except VolumeError as fault:
            return self._build_prediction(AnsweredVolume(make_refusal(IN_MEMORY_NAME, "", fault)))
        message = prediction.message.replace(str(path), "the image given")
        anonymous_cells = {"path": "", "message": message}
        facts = prediction.to_dict() | anonymous_cells
        facts["rows"] = [row | anonymous_cells for row in facts["rows"]]
        return replace(prediction, path="", message=message, _facts=facts)

    def _predict_path(self, path: File) -> Prediction:
        """The answer on the one volume at a path; refused if there are several."""
        checked_path = _nonempty_path(path)
        volumes = _volumes_at(checked_path)
        if len(volumes) > 1:
            fault = VolumeError(
                "volume-several",
                f"{path}: holds {len(volumes)} volumes. Give the path of one, such as "
                f"{volumes[0].path}, or all of them to predict_many.",
            )
            return self._build_prediction(
                AnsweredVolume(make_refusal(name_volumes([checked_path])[0], str(path), fault))
            )
        return next(self._answer_volumes(volumes, 1))

    def predict_many(self, paths: File | Iterable[File], jobs: int = 1) -> Iterator[Prediction]:
        """The answers on many volumes, each yielded once computed, in the order of the paths; a
        folder means all its volumes, sorted.

        paths  files and folders, or a single one
        jobs   processes that read volumes ahead; answers do not depend on it.  With more than one,
               a script must do its work under `if __name__ == "__main__":`, as for any use of
               multiprocessing; else ConfigError ("processes-none") is raised.
        """
        if jobs < 1:
            raise ConfigError(
                "jobs-invalid",
                f"jobs={jobs}: must be at least 1; 1 reads the volumes in this process",
            )
        # a string is one path, not its letters
        path_list = [paths] if isinstance(paths, str | PathLike) else paths
        return self._answer_volumes(
            [volume for path in path_list for volume in _volumes_at(_nonempty_path(path))], jobs
        )

    def _answer_volumes(self, volumes: list[Source], jobs: int) -> Iterator[Prediction]:
        """The answers on these sources, in order; what nobody foresaw is refused, and the rest go
        on."""
        names = name_volumes([source.path for source in volumes])
        for volume in predict_volumes(list(zip(names, volumes, strict=True)), self._ensemble, jobs):
            try:
                prediction = self._build_prediction(volume)
            except Exception as fault:
                path = Path(volume.answer.path)
                refused_volume = refuse_unforeseen(volume.answer.volume_id, path, fault)
                prediction = self._build_prediction(refused_volume)
            yield prediction

    def _build_prediction(self, volume: AnsweredVolume) -> Prediction:
        """The prediction that shows an answer, with the facts of its JSON."""
        answer = volume.answer
        decision = answer.decision
        facts = answer_facts(
            answer, volume.stack, volume.raw_probabilities, self._ensemble.vocabulary
        ) | {
            "rows": table_rows(answer, volume.stack),
            "model": self.identity,
            "model_name": self._ensemble.name,
            "engine": self._ensemble.engine_facts,
        }
        return Prediction(
            volume_id=answer.volume_id,
            path=answer.path,
            status=answer.status,
            message=answer.message,
            code=answer.code_text,
            confidence=decision.volume_confidence if decision else 0.0,
            spans=decision.spans if decision else (),
            _facts=facts,
            _part_names=self.parts,
        )


def load_model(folder: File | None = None, device: str = "auto", engine: str = "auto") -> Model:
    """The model in an ensemble folder, or the one that comes with the package; as `fovnet.load`."""
    return Model(
        load_ensemble(shipped_folder() if folder is None else Path(folder), device, engine=engine)
    )


def _nonempty_path(path: File) -> Path:
    """The path.  Raises ConfigError "path-empty" for an empty one, which pathlib would treat as the
    current folder."""
    if not fspath(path):
        raise ConfigError(
            "path-empty", "'': an empty path; give a file or a folder ('.' for this one)"
        )
    return Path(path)


def _volumes_at(path: Path) -> list[Source]:
    """The volumes a path stands for; the path itself if it holds none, to be refused with a
    reason."""
    try:
        return find_volumes([path]).sources
    except VolumeError:
        return [source_of(path)]
