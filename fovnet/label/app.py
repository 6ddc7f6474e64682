"""The requests of the page, each answered by the desk.

    GET  /                        the page
    GET  /page/NAME               its scripts and style
    GET  /begin                   regions, reader, progress, the first volume
    GET  /volumes/N               a volume
    POST /volumes/N               an action on it
    GET  /volumes/N/cuts.jpg      its cuts on one sheet
    GET  /volumes/N/slices/K.jpg  a slice as acquired
    GET  /next?after=N            the volume after one
    GET  /progress?of=N           how far all is, and how often a volume was changed
    GET  /list                    all volumes: place, name, and whether it is done, skipped or left

Volumes are named by their place in the list and files of the page by this package's own list, so
that no name from outside becomes a path.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fovnet._version import __version__
from fovnet.errors import FovnetError
from fovnet.label.desk import Action, Desk, VolumeChanged, region_facts

with suppress(ImportError):  # where it is missing, `serve.refuse_without_packages` says so
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}


class SentAction(BaseModel):
    """An action as the page sends it."""

    model_config = ConfigDict(extra="forbid", strict=True)
    session: str = Field(pattern="^[0-9a-f]{16}$")
    act: str = Field(max_length=20)
    revision: int
    extents: list[tuple[str, int, int]] | None = Field(default=None, max_length=100)
    words: str | None = Field(default=None, max_length=2000)

    @property
    def action(self) -> Action:
        """The action."""
        extents = None if self.extents is None else tuple(self.extents)
        return Action(self.act, self.revision, extents, self.words)


def build_app(desk: Desk) -> Starlette:
    """The application; `guard.Guard` belongs around it."""
    requests = _Requests(desk)
    return Starlette(
        routes=[
            Route("/", requests.answer_page),
            Route("/page/{name}", requests.answer_file),
            Route("/favicon.ico", lambda _: Response(status_code=204)),
            Route("/begin", requests.answer_begin),
            Route("/next", requests.answer_next),
            Route("/progress", requests.answer_progress),
            Route("/list", requests.answer_list),
            Route("/volumes/{index:int}", requests.answer_volume),
            Route("/volumes/{index:int}", requests.answer_action, methods=["POST"]),
            Route("/volumes/{index:int}/cuts.jpg", requests.answer_cuts),
            Route("/volumes/{index:int}/slices/{at:int}.jpg", requests.answer_slice),
        ],
        exception_handlers={
            FovnetError: _answer_refusal,
            VolumeChanged: _answer_change,
            OSError: _answer_unwritten,
        },
    )


class _Requests:
    """One method a request; those that are no coroutines run in a thread each."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        page_folder = files("fovnet.label") / "page"
        self._content_by_file_name = {
            file.name: file.read_bytes()
            for file in page_folder.iterdir()
            if file.name.endswith(tuple(MEDIA_TYPES))
        }

    def answer_page(self, request: Request) -> Response:
        return self._file_response("label.html")

    def answer_file(self, request: Request) -> Response:
        return self._file_response(request.path_params["name"])

    def answer_begin(self, request: Request) -> Response:
        desk = self._desk
        session = request.query_params.get("session", "")
        return JSONResponse(
            {
                "version": __version__,
                "reader": desk.reader,
                "mode": desk.mode,
                "out": str(desk.out),
                "regions": region_facts(desk.vocabulary),
                "next": desk.find_next(session, None),
                "progress": desk.progress_facts(),
            }
        )

    def answer_next(self, request: Request) -> Response:
        previous_index = request.query_params.get("after", "")
        next_index = self._desk.find_next(
            request.query_params.get("session", ""),
            int(previous_index) if previous_index.isdecimal() else None,
        )
        return JSONResponse({"next": next_index})

    def answer_progress(self, request: Request) -> Response:
        progress = self._desk.progress_facts()
        index_text = request.query_params.get("of", "")
        if index_text.isdecimal():
            progress["revision"] = self._desk.revision(self._index_or_not_found(int(index_text)))
        return JSONResponse(progress)

    def answer_list(self, request: Request) -> Response:
        return JSONResponse({"volumes": self._desk.list_volumes()})

    def answer_volume(self, request: Request) -> Response:
        return JSONResponse(self._desk.volume_facts(self._index_in_request(request)))

    async def answer_action(self, request: Request) -> Response:
        index = self._index_in_request(request)
        request_body = await request.body()
        try:
            sent_action = SentAction.model_validate_json(request_body)
        except ValidationError:
            raise HTTPException(400, "Not an action of this page.") from None
        return JSONResponse(
            await run_in_threadpool(
                self._desk.apply_action, sent_action.session, index, sent_action.action
            )
        )

    def answer_cuts(self, request: Request) -> Response:
        return Response(
            self._desk.pictures.sheet_of(self._index_in_request(request)).jpeg_bytes,
            media_type="image/jpeg",
        )

    def answer_slice(self, request: Request) -> Response:
        index = self._index_in_request(request)
        slice_index = request.path_params["at"]
        if not 0 <= slice_index < self._desk.pictures.sheet_of(index).grid.slices:
            raise HTTPException(404, "No such slice.")
        picture, wide_to_high = self._desk.pictures.slice_picture(index, slice_index)
        return Response(
            picture, media_type="image/jpeg", headers={"Wide-To-High": f"{wide_to_high:.4f}"}
        )

    def _index_in_request(self, request: Request) -> int:
        return self._index_or_not_found(int(request.path_params["index"]))

    def _index_or_not_found(self, index: int) -> int:
        if not 0 <= index < len(self._desk.items):
            raise HTTPException(404, "No such volume.")
        return index

    def _file_response(self, name: str) -> Response:
        if name not in self._content_by_file_name:
            raise HTTPException(404, "No such file.")
        return Response(
            self._content_by_file_name[name], media_type=MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
        )


def _answer_refusal(request: Request, fault: Any) -> Response:
    return JSONResponse({"sentence": fault.sentence, "code": fault.code}, 422)


def _answer_change(request: Request, fault: Any) -> Response:
    return JSONResponse(
        {"sentence": "Somebody else has changed this volume.", "code": "label-changed"}, 409
    )


def _answer_unwritten(request: Request, fault: Any) -> Response:
    sentence = (
        f"Not saved: {fault.filename or 'the log'}: {fault.strerror}; make room, then do it again."
    )
    return JSONResponse({"sentence": sentence, "code": "label-unwritten"}, 507)
