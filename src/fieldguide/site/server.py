"""The live guide: its pages, its pictures, and *identify*, on loopback unless told otherwise.

::

    GET  /                    the home page; every page at the address that it has in an export
    GET  /search.html?q=…     what fits a query; ``page`` is the page of a long list
    GET  /compare.html?a=…    two kinds, ``a`` and ``b``, side by side
    GET  /assets/…            style and scripts
    GET  /pictures/…          pictures that the guide lists, and nothing else
    GET  /originals/DIGEST    the image of a specimen, while it lies unchanged in its folder
    POST /identify.html       multipart field ``image``, once or several times -> the page with the
                              answer, or a list of answers in short, in it
    POST /api/identify        the same field -> the answer as ``Answer.to_plain`` gives it
    POST /api/identify.html   the same field -> the answer as two elements to insert into the page
    POST /api/entry.html      the same field -> the answer in short, as one item of a list
    GET  /api/guide           a summary of the guide
    GET  /api/edition         the number of its edition, which changes with every build
    GET  /api/find?q=…        what ``fieldguide find --json`` prints; ``limit`` as there
    GET  /healthz             {"status": "ok"}
    GET  /edit?token=…        with ``--edit``: begin to edit
    POST /edit                with ``--edit``: make an edit, from a form of a page
    GET  /edits.html          with ``--edit``: the history, to undo
    GET  /teach.html?word=…   with ``--edit``: pictures to teach a word by, finds of ``q`` first

Pages are in the language that the browser asks for (Accept-Language), unless one is given; what
programs ask for below ``/api`` is in English.

Without ``--edit`` the server writes nothing. Each answer is of one edition of the guide; when the
guide has been built again or edited, the next answer is of the new one. See ``guard.py`` for hosts,
headers and errors.
"""

import hashlib
import logging
import os
import re
import secrets
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route

from fieldguide._languages import check_language, say_count, spoken
from fieldguide.errors import EditError, FieldguideError, UnreadableImageError
from fieldguide.guide.answer import to_plain
from fieldguide.guide.shelf import open_file
from fieldguide.site.addresses import href
from fieldguide.site.chapter_pages import list_assets
from fieldguide.site.connections import TimedProtocol
from fieldguide.site.editing import Editing, draft_edit, read_form
from fieldguide.site.guard import (
    LOOPBACK,
    Guard,
    error_response,
    hosts_for,
    wants_json,
    word_error,
)
from fieldguide.site.listening import listen
from fieldguide.site.records import guide_record, query_record
from fieldguide.site.sending import is_known, send_file, tag_of
from fieldguide.site.served import ServedEdition, word_refusal
from fieldguide.site.uploads import Room, Upload, uploaded_images

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_AT_ONCE = 2  # pictures identified at the same time
_TOGETHER = 24  # pictures that one form may send
_N_FINDS = 20  # listed by /api/find unless a limit is given
_WAITING = 32  # and how many more may wait for their turn
_LONGEST_S = 60  # that anybody is told to wait
_MOST_PICTURE_BYTES = 2**26  # ours have a thousandth of it
_PICTURE_CACHE = "private, max-age=86400"
_ORIGINAL_CACHE = "private, no-cache"  # it may be gone the next time
# Whatever else its bytes may be read as, an image is shown as an image.
_AS_PICTURE = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_PAGE_CACHE = "no-cache"  # ask each time; an unchanged page costs no body
_NOT_KEPT = {"Cache-Control": "no-store"}
_log = logging.getLogger("fieldguide.site")
T = TypeVar("T")


def create_app(
    guide: "Guide",
    *,
    max_upload_mb: float = 32,
    allowed_hosts: Iterable[str] = LOOPBACK,
    edit_token: str | None = None,
    language: str | None = None,
) -> Starlette:
    """Make the ASGI application of a guide.

    Parameters
    ----------
    guide : Guide
    max_upload_mb : float
        Largest body that *identify* takes, in units of 1024 × 1024 bytes.
    allowed_hosts : iterable of str
        Values of the ``Host`` header to answer to, without ports.
    edit_token : str, optional
        Who opens ``/edit?token=…`` with it may edit the guide; see ``editing.py``. Without, nobody
        may, and the server writes nothing.
    language : str, optional
        The language of the pages. Without, each reader has the one that the browser asks for.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from starlette.testclient import TestClient
    >>> from fieldguide import Collection, Guide
    >>> greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     guide = Guide.build(Collection.from_arrays(greys, list("dddlll")), folder)
    ...     client = TestClient(create_app(guide), base_url="http://localhost")
    ...     client.get("/").status_code, client.get("/no-such-page").status_code
    (200, 404)
    """
    if language is not None:
        check_language(language)
    editing = None if edit_token is None else Editing(edit_token)
    site = _Site(guide, max_upload_mb, editing, language)
    may_edit = [
        Route("/edit", site.enter, methods=["GET"]),
        Route("/edit", site.edit, methods=["POST"]),
        Route("/edits.html", site.edits, methods=["GET"]),
        Route("/teach.html", site.teach, methods=["GET"]),
    ]

    def missing(root: str) -> str:
        return site.edition().variant(False, spoken()).renderer.missing(root)

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return error_response(request, error, missing)

    return Starlette(
        routes=[
            Mount(
                "/api",
                routes=[
                    Route("/identify", site.identify, methods=["POST"]),
                    Route("/identify.html", site.fragment, methods=["POST"]),
                    Route("/entry.html", site.entry, methods=["POST"]),
                    Route("/guide", site.summary, methods=["GET"]),
                    Route("/edition", site.number, methods=["GET"]),
                    Route("/find", site.find, methods=["GET"]),
                ],
            ),
            Route("/healthz", site.health, methods=["GET"]),
            Route("/assets/{name}", site.asset, methods=["GET"]),
            Route("/pictures/{address:path}", site.picture, methods=["GET"]),
            Route("/originals/{digest}", site.original, methods=["GET"]),
            Route("/identify.html", site.identify_page, methods=["POST"]),
            *(may_edit if editing else ()),
            Route("/{address:path}", site.page, methods=["GET"]),
        ],
        middleware=[
            Middleware(Guard, allowed_hosts=allowed_hosts, missing_page=missing, language=language)
        ],
        exception_handlers={HTTPException: refuse},
    )


def serve(
    guide: "Guide",
    host: str = "127.0.0.1",
    port: int | None = None,
    *,
    open_browser: bool = False,
    announce: Callable[[str], None] | None = None,
    max_upload_mb: float = 32,
    names: Iterable[str] = (),
    edit: bool = False,
    language: str | None = None,
) -> None:
    """Serve a guide until interrupted.

    Parameters
    ----------
    guide : Guide
    host : str
        Where to listen; ``"0.0.0.0"`` is every network interface of the machine.
    port : int, optional
        None takes the first free port from 8000 to 8019, 0 any free one. A port that is asked
        for and busy is an error.
    open_browser : bool
        Open the home page once the server listens.
    announce : callable, optional
        Called with the address of the home page once the server listens.
    max_upload_mb : float
        See :func:`create_app`.
    names : iterable of str
        Further host names to answer to, such as the public one behind a proxy.
    edit : bool
        Whether the guide may be edited, by whoever has the address that is announced.
    language : str, optional
        See :func:`create_app`.
    """
    token = secrets.token_urlsafe(24) if edit else None
    app = create_app(
        guide,
        max_upload_mb=max_upload_mb,
        allowed_hosts=hosts_for(host, names),
        edit_token=token,
        language=language,
    )
    listening = listen(host, port)
    try:
        shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
        shown = f"[{shown}]" if ":" in shown else shown
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        address += "" if token is None else f"edit?token={token}"
        if announce is not None:
            announce(address)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        uvicorn.Server(configure(app)).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def configure(app: Starlette) -> uvicorn.Config:
    """Return how an application of ours is served: with limits, and without logs of its own."""
    return uvicorn.Config(
        app,
        http=TimedProtocol,
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="off",
        server_header=False,
    )


class _Site:
    """The answers of the server, one method per route."""

    def __init__(
        self,
        guide: "Guide",
        max_upload_mb: float,
        editing: Editing | None,
        language: str | None,
    ) -> None:
        self._edition = ServedEdition(guide, max_upload_mb)
        self._editing = editing
        asked = ("" if language else "Accept-Language", "" if editing is None else "Cookie")
        self._varies = ", ".join(filter(None, asked))  # what a page depends on, by its headers
        self._before: ServedEdition | None = (
            None  # its pictures are on pages that people still read
        )
        self._moving = threading.Lock()
        self._max_upload_mb = max_upload_mb
        self._turns: anyio.CapacityLimiter | None = None  # made where the event loop runs
        self._room = Room()
        self._n_asked = 0
        self._mean_s = 0.5  # that an answer took of late
        self._reading = threading.BoundedSemaphore(_AT_ONCE)

    def edition(self) -> ServedEdition:
        """Return what the guide is now; one answer takes all that it says from it."""
        if self._edition.guide.is_current():
            return self._edition
        with self._moving:
            if not self._edition.guide.is_current():
                try:
                    new = ServedEdition(self._edition.guide.reopen(), self._max_upload_mb)
                except FieldguideError as error:  # what we have is whole: go on with it
                    _log.error("The new guide cannot be opened: %s", error)
                else:
                    self._before, self._edition = self._edition, new
            return self._edition

    def edition_for(self, request: Request) -> ServedEdition:
        """Return what the guide is now, for a reader who may edit or not, in the language that is
        spoken."""
        is_editor = self._editing is not None and self._editing.is_editor(request)
        return self.edition().variant(is_editor, spoken())

    def enter(self, request: Request) -> Response:
        assert self._editing is not None
        return self._editing.enter(request)

    def edits(self, request: Request) -> Response:
        assert self._editing is not None
        if not self._editing.is_editor(request):
            raise HTTPException(404)
        return HTMLResponse(self.edition_for(request).renderer.edits(), headers=_NOT_KEPT)

    def teach(self, request: Request) -> Response:
        assert self._editing is not None
        if not self._editing.is_editor(request):
            raise HTTPException(404)
        asked = (request.query_params.get(name, "").strip()[:500] for name in ("word", "q"))
        page = self.edition_for(request).renderer.teach(*asked)
        return HTMLResponse(page, headers=_NOT_KEPT)

    async def edit(self, request: Request) -> Response:
        """Make an edit, and lead back to the page where it was asked for."""
        assert self._editing is not None
        self._editing.check(request)
        form = await read_form(request)
        try:
            back = await anyio.to_thread.run_sync(self._write_edit, form)
        except EditError as error:
            if wants_json(request):
                raise HTTPException(400, str(error)) from None
            page = self.edition_for(request).renderer.edits(str(error))
            return HTMLResponse(page, status_code=400, headers=_NOT_KEPT)
        place = f"{request.scope.get('root_path', '')}/{href(back)}#edit"
        return RedirectResponse(place, status_code=303, headers=_NOT_KEPT)

    def _write_edit(self, form: dict[str, str]) -> str:
        """Make the edit of a form; return the page to go back to."""
        guide = self.edition().guide
        edit = draft_edit(guide, form)
        guide.edits.write([edit])
        if edit.verb == "teach" and edit.target is not None:
            return self.edition().renderer.book.word(edit.target.name)
        try:
            self.edition().renderer.book.find(form.get("back", ""))
        except KeyError:  # such as the plate of a kind that is part of another now
            return "edits.html"
        return form["back"]

    def page(self, request: Request) -> Response:
        address = request.path_params["address"] or "index.html"
        asked = request.query_params
        query = asked.get("q", "").strip() if address == "search.html" else ""
        kinds = [asked.get(name, "") for name in "ab"] if address == "compare.html" else []
        edition = self.edition_for(request)
        try:
            if query:
                html = edition.results(query, _read_number(request, "page", 1) or 0)
            elif any(kinds):
                html = edition.compare(*kinds)
            else:
                html = edition.page(address)
        except KeyError:
            raise HTTPException(404) from None
        if address == "404.html":
            raise HTTPException(404)
        body = html.encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        headers = {"ETag": tag, "Cache-Control": _PAGE_CACHE, "Content-Language": spoken()}
        headers |= {"Vary": self._varies} if self._varies else {}
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        return HTMLResponse(body, headers=headers)

    def asset(self, request: Request) -> Response:
        path = list_assets().get(request.path_params["name"])
        if path is None:
            raise HTTPException(404)
        return send_file(request, path, path.parent, _PAGE_CACHE)

    def picture(self, request: Request) -> Response:
        address = f"pictures/{request.path_params['address']}"
        edition = self.edition()
        before = self._before
        if address not in edition.pictures and (before is None or address not in before.pictures):
            raise HTTPException(404)
        file = open_file(Path(edition.guide.folder), address)
        if file is None:
            raise HTTPException(404)
        with file:
            status = os.fstat(file.fileno())
            if status.st_size > _MOST_PICTURE_BYTES:
                raise HTTPException(404)
            tag = tag_of(status)
            headers = {"ETag": tag, "Cache-Control": _PICTURE_CACHE}
            if is_known(request, tag):
                return Response(status_code=304, headers=headers)
            kind = "image/png" if address.endswith(".png") else "image/jpeg"
            return Response(file.read(), media_type=kind, headers=headers)

    def original(self, request: Request) -> Response:
        digest = request.path_params["digest"]
        edition = self.edition()
        tag = f'"{digest}"'
        headers = {"ETag": tag, "Cache-Control": _ORIGINAL_CACHE, **_AS_PICTURE}
        with self._reading:  # each may take as much memory as a file may have
            found = edition.read_original(digest)
        if found is None:
            raise HTTPException(404)
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.media_type, headers=headers)

    def summary(self, request: Request) -> Response:
        return JSONResponse(to_plain(guide_record(self.edition().guide), n_digits=None))

    def number(self, request: Request) -> Response:
        number = self.edition().guide.about.get("edition")
        return JSONResponse({"edition": number}, headers=_NOT_KEPT)

    def find(self, request: Request) -> Response:
        limit = _read_number(request, "limit", _N_FINDS)
        if limit is None:
            raise HTTPException(400, "limit must be a whole number from 1 on.")
        try:
            found = self.edition().guide.find(request.query_params.get("q", ""), limit=limit)
        except FieldguideError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(to_plain(query_record(found)))

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def identify(self, request: Request) -> Response:
        answer = await self._ask(request, ServedEdition.identify)
        return JSONResponse(answer, headers=_NOT_KEPT)

    async def fragment(self, request: Request) -> Response:
        return HTMLResponse(await self._ask(request, ServedEdition.fragment), headers=_NOT_KEPT)

    async def entry(self, request: Request) -> Response:
        return HTMLResponse(await self._ask(request, ServedEdition.entry), headers=_NOT_KEPT)

    async def identify_page(self, request: Request) -> Response:
        try:
            page = await self._ask(request, ServedEdition.identify_page, _TOGETHER)
        except HTTPException as error:
            if wants_json(request):
                raise
            page = self.edition_for(request).renderer.identify(refusal=word_error(error))
            headers = {**(error.headers or {}), **_NOT_KEPT}
            return HTMLResponse(page, status_code=error.status_code, headers=headers)
        return HTMLResponse(page, headers=_NOT_KEPT)

    async def _ask(
        self, request: Request, say: Callable[[ServedEdition, list[Upload]], T], most: int = 1
    ) -> T:
        """Give the uploaded pictures to the guide when it is their turn; return what ``say``
        says."""

        def answer(uploads: list[UploadFile]) -> T:
            started = time.perf_counter()
            read = [Upload(upload.filename or "", upload.file.read()) for upload in uploads]
            try:
                return say(self.edition_for(request), read)
            finally:
                took = time.perf_counter() - started
                self._mean_s += 0.2 * (took - self._mean_s)

        async with uploaded_images(request, self._max_upload_mb, self._room, most) as uploads:
            if self._n_asked >= _AT_ONCE + _WAITING:
                raise self._turn_away()
            if self._turns is None:
                self._turns = anyio.CapacityLimiter(_AT_ONCE)
            self._n_asked += 1
            try:
                return await anyio.to_thread.run_sync(answer, uploads, limiter=self._turns)
            except UnreadableImageError as error:
                raise HTTPException(415, word_refusal(error)) from None
            finally:
                self._n_asked -= 1

    def _turn_away(self) -> HTTPException:
        """Return what is said to one picture too many: when those before it will be done."""
        seconds = min(max(ceil(self._n_asked * self._mean_s / _AT_ONCE), 1), _LONGEST_S)
        said = say_count(
            "The guide is busy; try again in %(n)s second.",
            "The guide is busy; try again in %(n)s seconds.",
            seconds,
        )
        return HTTPException(503, said, {"Retry-After": str(seconds)})


def _read_number(request: Request, name: str, default: int) -> int | None:
    """Return a number from 1 on that stands in the address; None for what is none."""
    text = request.query_params.get(name, str(default))
    return int(text) if re.fullmatch("[1-9][0-9]{0,8}", text) else None
