"""The DICOM conformance statement of a node (PS3.2), written from the contexts that it offers: those of the
door, and with a peer those of the courier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pynetdicom.presentation import PresentationContext

from fovnet._version import __version__
from fovnet.config.node import NodeOptions
from fovnet.node.courier import reporting_entity
from fovnet.node.door import (
    STATUS_ELEMENTS_DISCARDED,
    STATUS_MISMATCH,
    STATUS_NOT_UNDERSTOOD,
    STATUS_OUT_OF_RESOURCES,
    STATUS_SUCCESS,
    listening_entity,
)
from fovnet.node.settings import NodeSettings

TEMPLATE = Path(__file__).with_name("conformance.md")
MEANING_BY_STATUS = {
    STATUS_SUCCESS: "on the disk",
    STATUS_ELEMENTS_DISCARDED: "a report that fovnet wrote: taken so that a study can be moved whole, and not kept",
    STATUS_OUT_OF_RESOURCES: "the disk is nearly full; to be sent again later",
    STATUS_MISMATCH: "without the UIDs of study and series, with another SOP instance UID than announced, "
    "or a report that fovnet did not write",
    STATUS_NOT_UNDERSTOOD: "no data set",
}
SECURITY_PLAIN = "Callers speak plainly. TLS is set by `tls_cert`."
SECURITY_TLS = "Callers speak TLS alone, 1.2 or later (BCP 195)"


def conformance_statement(options: NodeOptions, settings: NodeSettings) -> str:
    """The statement of a node with these settings, as Markdown."""
    door_entity = listening_entity(
        settings.title, settings.limits, has_peer=settings.peer is not None
    )
    proposed_contexts: Sequence[PresentationContext] = ()
    courier_entity = reporting_entity(settings.title, settings.limits.idle_s)
    initiation = "None: no archive is named (`to`)."
    if settings.peer is not None:
        proposed_contexts = courier_entity.requested_contexts
        initiation = f"With {options.to} alone, when there are reports for it."
    callers_in_words = "this machine alone"
    if options.callers:
        callers_in_words = ", ".join(f"`{caller}`" for caller in options.callers)
    return TEMPLATE.read_text(encoding="utf-8").format(
        title=settings.title,
        version=__version__,
        services=_service_rows(door_entity.supported_contexts, proposed_contexts),
        rest=settings.rest_s,
        longest=settings.longest_s,
        implementation_uid=door_entity.implementation_class_uid,
        implementation_version=door_entity.implementation_version_name,
        pdu_accepted=door_entity.maximum_pdu_size,
        pdu_initiated=courier_entity.maximum_pdu_size,
        associations=settings.limits.associations,
        idle=settings.limits.idle_s,
        callers=callers_in_words,
        accepted=_context_rows(door_entity.supported_contexts),
        keep=settings.keep_h,
        statuses=_rows((f"{status:04X}", meaning) for status, meaning in MEANING_BY_STATUS.items()),
        largest=options.largest,
        initiation=initiation,
        proposed=_context_rows(proposed_contexts),
        give_up=options.give_up,
        security=_security_in_words(options),
        settings=_rows(
            (f"`{key}`", f"`{value}`")
            for key, value in options.model_dump(mode="json", by_alias=True).items()
        ),
    )


def _service_rows(
    accepted: Sequence[PresentationContext], proposed: Sequence[PresentationContext]
) -> str:
    """A row for each SOP class, with Yes where the node is its SCU, or its SCP."""
    used = {context.abstract_syntax: context for context in proposed}
    # where callers have the role of SCP, the node is the SCU
    used |= {context.abstract_syntax: context for context in accepted if context.scp_role}
    provided = {context.abstract_syntax: context for context in accepted if not context.scp_role}
    return _rows(
        (_name_of(uid), _yes_or_no(uid in used), _yes_or_no(uid in provided))
        for uid in {**provided, **used}
    )


def _context_rows(contexts: Sequence[PresentationContext]) -> str:
    """A row for each abstract syntax in each of its transfer syntaxes."""
    return _rows(
        (
            _name_of(context.abstract_syntax),
            context.abstract_syntax,
            _name_of(syntax),
            syntax,
            _role_in_words(context),
            "none",
        )
        for context in contexts
        for syntax in context.transfer_syntax
    )


def _role_in_words(context: PresentationContext) -> str:
    if context.scp_role:
        return "SCP, by role selection"
    return "SCU"


def _security_in_words(options: NodeOptions) -> str:
    """What is encrypted, and who has to show a certificate."""
    sentences = [SECURITY_PLAIN]
    if options.tls_cert is not None:
        sentences = [f"{SECURITY_TLS}."]
        if options.tls_ca is not None:
            sentences = [f"{SECURITY_TLS}, with a certificate of the configured authorities."]
    if options.to_tls:
        sentences.append("The archive is called by TLS; its certificate must name its host.")
    return " ".join(sentences)


def _name_of(uid: Any) -> str:
    """The name of a UID in the standard's dictionary, or the UID."""
    return str(getattr(uid, "name", uid))


def _yes_or_no(is_so: bool) -> str:
    if is_so:
        return "Yes"
    return "No"


def _rows(cells_by_row: Iterable[Sequence[object]]) -> str:
    """Rows of a table in Markdown."""
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in cells_by_row)
