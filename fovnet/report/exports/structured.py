"""An answer as a DICOM Comprehensive 3D SR: an Imaging Measurement Report with one measurement group per
span.

Each group has the region as finding and finding site (SNOMED CT, see regions.py), the span's length and
probability, the heights of its two ends in scanner coordinates, and references to the source images that the
span was cut from. Of an answer given region by region, only the regions that are surely shown have such
groups. One that may be shown has a group without heights, whose Certainty of Finding is "Possible"; one that
is surely not shown has none. Source: DICOM PS3.16, TID 1500 (report), TID 1501 (measurements and qualitative
evaluations), TID 4019 (algorithm), annex D (Certainty of Finding).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.decision.statements import Statement, may_show
from fovnet.errors import FovnetError, ModelError
from fovnet.evaluate.cases import Stretch
from fovnet.records import clear_unfinished, replace_with
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer
from fovnet.report.exports.dicom_ownership import is_our_dicom, refuse_foreign, refuse_other_series, withdraw
from fovnet.report.exports.originals import UTF_8, Original, image_keys, originals_of, uid_for
from fovnet.volume.dicom.header import quietly

if TYPE_CHECKING:
    from highdicom.sr import Comprehensive3DSR, MeasurementsAndQualitativeEvaluations

# of concepts without a standard code: the two ends of a span, and that no region is shown, or none surely
SCHEME = "99FOVNET"
SHOWN, NO_REGION = ("regions", "Body regions shown"), ("none", "None of the regions")
NOT_SURE = ("unsure", "No region surely shown")
POSSIBLE = ("371930009", "Possible")                # SNOMED CT
LOWER, UPPER = (
    ("lower-end", "Height of the lower end, scanner coordinates"),
    ("upper-end", "Height of the upper end, scanner coordinates"),
)
# attributes that must be present, though they may be empty, and are often missing
MAY_BE_EMPTY = (
    "PatientName", "PatientID", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime", "StudyID",
    "AccessionNumber", "ReferringPhysicianName",
)
METHOD_CODES, PROCEDURE_CODES = "DeidentificationMethodCodeSequence", "ProcedureCodeSequence"
A_CODE = ("CodeValue", "CodingSchemeDesignator", "CodeMeaning")
DATED = (
    "ContentDate", "ContentTime", "InstanceCreationDate", "InstanceCreationTime",
    "ContributingEquipmentSequence",
)
SERIES_NUMBER = 9000            # above the numbers that scanners use


def structured_report(answer: StoredAnswer, vocabulary: Vocabulary) -> Comprehensive3DSR:
    """The SR of an answer, in its source's study; the same answer gives the same UIDs.  Its character set is
    UTF-8.

    Where a region or the extents are not sure, its Completion Flag is PARTIAL, and the reason is among the
    algorithm's parameters; an uncertain answer without statements has the groups of its best guess.  Raises
    ModelError as `originals_of`, and "export-no-code" for a region without a code.
    """
    from highdicom.sr import Comprehensive3DSR, MeasurementReport
    from pydicom.sr.codedict import codes

    sources = originals_of(answer)
    for source in sources:
        _complete(source.header)
    content = MeasurementReport(
        _observed_by(answer),
        procedure_reported=_code("113091000", "SCT", "Magnetic resonance imaging"),
        imaging_measurements=_groups(answer, vocabulary, sources),
        title=codes.DCM.ImagingMeasurementReport,
    )
    # other codes for the same answer give other UIDs
    named = [vocabulary.concept(span.region) for span in answer.spans]
    identity = *answer.identity(), *named, *image_keys(sources)
    unsure = _unsure(answer)
    return Comprehensive3DSR(
        [source.header for source in sources], content[0],
        series_instance_uid=uid_for("sr-series", *identity), series_number=SERIES_NUMBER,
        sop_instance_uid=uid_for("sr", *identity), specific_character_set=UTF_8, instance_number=1,
        manufacturer="fovnet", is_complete=not unsure, is_final=False, is_verified=False,
        series_description="fovnet: body regions" + (f" ({unsure})" if unsure else ""),
    )


def _observed_by(answer: StoredAnswer) -> Any:
    """The observation context: fovnet as a device, with its ensemble as model."""
    from highdicom.sr import DeviceObserverIdentifyingAttributes, ObservationContext, ObserverContext
    from pydicom.sr.codedict import codes

    device = DeviceObserverIdentifyingAttributes(
        uid_for("device", answer.model), name="fovnet", manufacturer_name="fovnet", model_name=answer.model
    )
    return ObservationContext(observer_device_context=ObserverContext(codes.DCM.Device, device))


def _groups(
    answer: StoredAnswer, vocabulary: Vocabulary, sources: Sequence[Original]
) -> list[MeasurementsAndQualitativeEvaluations]:
    """The groups of what is shown, then of what may be; at least one, as the standard asks for."""
    from highdicom.sr import AlgorithmIdentification

    algorithm = AlgorithmIdentification(
        "fovnet", answer.version, parameters=(f"ensemble {answer.model}", *_caution(answer))
    )
    groups = [
        _group(answer, number, span, vocabulary, sources, algorithm)
        for number, span in enumerate(answer.shown_spans, start=1)
    ]
    groups += [
        _possible(answer, one, vocabulary, sources, algorithm)
        for one in answer.statements if may_show(one)
    ]
    return groups or [_nothing(answer, sources, algorithm)]


def _complete(header: Any) -> None:
    """Adds the required attributes that a source's header lacks, since the report copies those of its patient
    and study.

    Procedure codes without scheme, value or meaning are removed; Patient Identity Removed requires a method,
    which is added.
    """
    for name in MAY_BE_EMPTY:
        if name not in header:
            setattr(header, name, "")
    if header.get("PatientIdentityRemoved") == "YES" and not (
        header.get("DeidentificationMethod") or header.get(METHOD_CODES)
    ):
        header.DeidentificationMethod = "not told by the source images"
    if PROCEDURE_CODES in header:
        whole = [code for code in header[PROCEDURE_CODES].value if all(code.get(name) for name in A_CODE)]
        if whole:
            setattr(header, PROCEDURE_CODES, whole)
        else:
            delattr(header, PROCEDURE_CODES)


def _group(
    answer: StoredAnswer, number: int, span: Stretch, vocabulary: Vocabulary, sources: Sequence[Original],
    algorithm: Any,
) -> MeasurementsAndQualitativeEvaluations:
    """The measurement group of one span."""
    from highdicom.sr import (
        FindingSite,
        Measurement,
        MeasurementsAndQualitativeEvaluations,
        SourceImageForMeasurementGroup,
        TrackingIdentifier,
    )
    from pydicom.sr.codedict import codes

    region = _coded(answer, span.region, vocabulary)
    mm, one = codes.UCUM.Millimeter, codes.UCUM.NoUnits
    return MeasurementsAndQualitativeEvaluations(
        TrackingIdentifier(
            uid_for("span", *answer.identity(), number, *image_keys(sources)), f"span {number}"
        ),
        finding_category=codes.SCT.AnatomicalStructure,
        finding_type=region,
        finding_sites=[FindingSite(region)],
        algorithm_id=algorithm,
        measurements=[
            Measurement(codes.SCT.Length, round(span.to_mm - span.from_mm, 3), mm),
            Measurement(_code(LOWER[0], SCHEME, LOWER[1]), round(span.from_mm, 3), mm),
            Measurement(_code(UPPER[0], SCHEME, UPPER[1]), round(span.to_mm, 3), mm),
            Measurement(codes.DCM.Probability, round(answer.probability(span), 4), one),
        ],
        source_images=[
            SourceImageForMeasurementGroup(
                used.header.SOPClassUID, used.header.SOPInstanceUID, list(used.frames) or None
            )
            for source in sources
            if (used := source.only(answer.images_of(span))) is not None
        ],
    )


def _possible(
    answer: StoredAnswer, said: Statement, vocabulary: Vocabulary, sources: Sequence[Original], algorithm: Any
) -> MeasurementsAndQualitativeEvaluations:
    """The group of a region that may be shown: its probability, no heights; it refers to all images."""
    from highdicom.sr import (
        FindingSite,
        Measurement,
        MeasurementsAndQualitativeEvaluations,
        QualitativeEvaluation,
        TrackingIdentifier,
    )
    from pydicom.sr.codedict import codes

    region = _coded(answer, said.region, vocabulary)
    identity = *answer.identity(), said.region, *image_keys(sources)
    return MeasurementsAndQualitativeEvaluations(
        TrackingIdentifier(uid_for("possible", *identity), f"possible {said.region}"[:64]),
        finding_category=codes.SCT.AnatomicalStructure,
        finding_type=region,
        finding_sites=[FindingSite(region)],
        algorithm_id=algorithm,
        measurements=[
            Measurement(codes.DCM.Probability, round(said.probability, 4), codes.UCUM.NoUnits),
        ],
        qualitative_evaluations=[
            QualitativeEvaluation(codes.DCM.CertaintyOfFinding, _code(POSSIBLE[0], "SCT", POSSIBLE[1]))
        ],
        source_images=_all_images(sources),
    )


def _nothing(
    answer: StoredAnswer, sources: Sequence[Original], algorithm: Any
) -> MeasurementsAndQualitativeEvaluations:
    """The group of a volume that shows none of the regions, or none surely; it refers to all images."""
    from highdicom.sr import (
        MeasurementsAndQualitativeEvaluations,
        QualitativeEvaluation,
        TrackingIdentifier,
    )

    value = NO_REGION if answer.status == "ok" or not answer.statements else NOT_SURE
    return MeasurementsAndQualitativeEvaluations(
        TrackingIdentifier(uid_for("span", *answer.identity(), 0, *image_keys(sources)), "no region"),
        algorithm_id=algorithm,
        qualitative_evaluations=[
            QualitativeEvaluation(_code(SHOWN[0], SCHEME, SHOWN[1]), _code(value[0], SCHEME, value[1]))
        ],
        source_images=_all_images(sources),
    )


def _all_images(sources: Sequence[Original]) -> list[Any]:
    """References to every image that the answer was made from."""
    from highdicom.sr import SourceImageForMeasurementGroup

    return [
        SourceImageForMeasurementGroup(
            used.header.SOPClassUID, used.header.SOPInstanceUID, list(used.frames) or None
        )
        for used in sources
    ]


def _date_as(path: Path, report: Any) -> None:
    """Copies the dates of an existing report with the same UID at `path`, so that a repeated export gives the
    same file."""
    from pydicom import dcmread

    if is_our_dicom(path):
        before = dcmread(path, specific_tags=["SOPInstanceUID", *DATED])
        if before.get("SOPInstanceUID") == report.SOPInstanceUID:
            for name in DATED:
                if name in before:
                    report[name] = before[name]


def _unsure(answer: StoredAnswer) -> str:
    """What of an answer is not sure, in a word or two: "partly", "uncertain", "extents unsure"; "" if
    nothing."""
    if answer.status != "ok":
        return answer.status
    return "extents unsure" if answer.statements and not answer.are_extents_sure else ""


def _caution(answer: StoredAnswer) -> tuple[str, ...]:
    unsure = _unsure(answer)
    return (f"{unsure}: {answer.message}"[:1024],) if unsure else ()


def _coded(answer: StoredAnswer, region: str, vocabulary: Vocabulary) -> Any:
    """The code of a region.  Raises ModelError "export-no-code" if it has none."""
    term = vocabulary.concept(region)
    if term is None:
        raise ModelError(
            "export-no-code",
            f"{answer.volume_id}: the region {region!r} has no SNOMED CT code. Give `sct` in the "
            "regions file.",
        )
    return _code(term.sct, "SCT", term.meaning)


def _code(value: str, scheme: str, meaning: str) -> Any:
    from highdicom.sr import CodedConcept

    return CodedConcept(value, scheme, meaning)


def write_report(answer: StoredAnswer, vocabulary: Vocabulary, folder: Path) -> Path:
    """Writes `folder/<volume_id>.dcm`; for a refused volume, the report of an earlier answer is removed.

    Raises as `structured_report`, and ModelError "export-header" if the library rejects the source's header,
    "export-foreign" if the file there was not written by fovnet, "export-other-study" if it reports on other
    images; "export-stays" as `withdraw`.
    """
    path = folder / f"{answer.volume_id}.dcm"
    if answer.status == "refused":
        withdraw([path], answer.path)
    try:
        if answer.status != "refused":
            refuse_foreign(path)
        with quietly():
            report = structured_report(answer, vocabulary)
            refuse_other_series(path, report)
            _date_as(path, report)
            clear_unfinished(folder, name=escape(path.name))            # it may contain the patient's name
            return replace_with(path, partial(report.save_as, enforce_file_format=True))
    except (FovnetError, OSError, MemoryError):
        raise
    except Exception as fault:
        # unusual header values raise any exception, whose text may contain a name
        raise ModelError(
            "export-header",
            f"{answer.path}: {answer.volume_id} has a header from which no report can be made "
            f"({type(fault).__name__}). Correct the series in its archive.",
        ) from fault
