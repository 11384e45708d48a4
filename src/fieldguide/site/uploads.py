"""Reading uploaded pictures, and refusing what is too large before it is all read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

from fieldguide._files import is_disk_full
from fieldguide._languages import say

FIELD = "image"
_ENVELOPE = 64 * 1024  # bytes of a multipart body that are not the picture
BODY_S = 120.0  # seconds that a body may take
STILL_S = 20.0  # and that may pass without a byte of it
HELD = 32  # of the longest uploads that may lie in memory or on the disk at once
_DRAIN = 4  # a body declared up to so many times too long is read to its end, then refused:
# a browser that is cut off while it sends shows a broken connection in place of our sentence


class Upload(NamedTuple):
    """A file that was sent."""

    name: str  # as the sender calls it
    data: bytes


class Room:
    """How many bytes of uploads a server holds, all clients together."""

    def __init__(self) -> None:
        self.n_bytes = 0


@asynccontextmanager
async def uploaded_images(
    request: Request, max_upload_mb: float, room: Room, most: int = 1
) -> AsyncIterator[list[UploadFile]]:
    """Give the uploaded files of a request; an HTTPException says what is wrong with them.

    Each is in memory while it is small and in a temporary file otherwise, and gone after the
    block. Together they may have ``max_upload_mb``, and those of all requests ``HELD`` times that.
    """
    taken = _Taken(room, int(max_upload_mb * 1024 * 1024))
    try:
        async with _read_images(request, max_upload_mb, most, taken) as uploads:
            yield uploads
    except OSError as error:
        if not is_disk_full(error):
            raise
        raise _no_room() from None
    finally:
        room.n_bytes -= taken.n_bytes


def _no_room() -> HTTPException:
    said = say("The guide has no room for that picture at the moment; try again in ten seconds.")
    return HTTPException(503, said, {"Retry-After": "10", "Connection": "close"})


class _Taken:
    """What one request has sent so far."""

    def __init__(self, room: Room, max_bytes: int) -> None:
        self._room, self._most = room, HELD * max_bytes
        self.n_bytes = 0

    def add(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes
        self._room.n_bytes += n_bytes
        if self._room.n_bytes > self._most:
            raise _no_room()


@asynccontextmanager
async def _read_images(
    request: Request, max_upload_mb: float, most: int, taken: _Taken
) -> AsyncIterator[list[UploadFile]]:
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise HTTPException(
            415,
            say(
                "Send the picture as multipart form data, in the field %(field)s.",
                field=repr(FIELD),
            ),
        )
    max_bytes = int(max_upload_mb * 1024 * 1024)
    limit = max_bytes + _ENVELOPE
    too_large = HTTPException(
        413,
        say(
            "That upload is larger than %(size)s MB; send a smaller picture.",
            size=f"{max_upload_mb:g}",
        ),
        {"Connection": "close"},  # whatever more is on its way is not read
    )
    length = request.headers.get("content-length", "")
    declared = int(length) if length.isdecimal() and len(length) < 20 else 0
    if declared > limit:
        if declared <= _DRAIN * limit:
            timed = Request(request.scope, in_time(request.receive))
            async for _ in timed.stream():
                pass
        raise too_large
    receive = in_time(request.receive)
    counted = Request(request.scope, _counting(receive, limit, too_large, taken))
    async with counted.form(max_files=most, max_fields=8, max_part_size=_ENVELOPE) as form:
        uploads = [each for each in form.getlist(FIELD) if isinstance(each, UploadFile)]
        if not uploads:
            raise HTTPException(
                400, say("Send one picture as a file, in the field %(field)s.", field=repr(FIELD))
            )
        if sum(upload.size or 0 for upload in uploads) > max_bytes:
            raise too_large
        if not any(upload.size for upload in uploads):
            raise HTTPException(400, say("The file is empty; send a picture."))
        yield uploads


def in_time(receive: Receive) -> Receive:
    """Pass a body on as long as it comes; whoever is too slow is told so, and dropped."""
    end = anyio.current_time() + BODY_S

    async def timed() -> Message:
        left = min(end - anyio.current_time(), STILL_S)
        with anyio.move_on_after(max(left, 0.0)):
            return await receive()
        raise HTTPException(
            408, say("That upload came too slowly; try again."), {"Connection": "close"}
        )

    return timed


def _counting(receive: Receive, limit: int, too_large: HTTPException, taken: _Taken) -> Receive:
    """Pass a body on until it is longer than ``limit``, whatever its headers said."""

    async def counted() -> Message:
        message = await receive()
        taken.add(len(message.get("body", b"")))
        if taken.n_bytes > limit:
            raise too_large
        return message

    return counted
