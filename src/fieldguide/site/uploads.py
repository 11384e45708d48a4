"""Reading uploaded pictures, and refusing what is too large before it is all read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

FIELD = "image"
_ENVELOPE = 64 * 1024  # bytes of a multipart body that are not the picture
BODY_S = 120.0  # seconds that a body may take
STILL_S = 20.0  # and that may pass without a byte of it
_DRAIN = 4  # a body declared up to so many times too long is read to its end, then refused:
# a browser that is cut off while it sends shows a broken connection in place of our sentence


class Upload(NamedTuple):
    """A file that was sent."""

    name: str  # as the sender calls it
    data: bytes


@asynccontextmanager
async def uploaded_images(
    request: Request, max_upload_mb: float, most: int = 1
) -> AsyncIterator[list[UploadFile]]:
    """Give the uploaded files of a request; an HTTPException says what is wrong with them.

    Each is in memory while it is small and in a temporary file otherwise, and gone after the
    block. Together they may have ``max_upload_mb``.
    """
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise HTTPException(415, f"Send the picture as multipart form data, in field {FIELD!r}.")
    max_bytes = int(max_upload_mb * 1024 * 1024)
    limit = max_bytes + _ENVELOPE
    too_large = HTTPException(
        413,
        f"That upload is larger than {max_upload_mb:g} MB; send a smaller picture.",
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
    counted = Request(request.scope, _counting(receive, limit, too_large))
    async with counted.form(max_files=most, max_fields=8, max_part_size=_ENVELOPE) as form:
        uploads = [each for each in form.getlist(FIELD) if isinstance(each, UploadFile)]
        if not uploads:
            raise HTTPException(400, f"Send one picture as a file, in the field {FIELD!r}.")
        if sum(upload.size or 0 for upload in uploads) > max_bytes:
            raise too_large
        if not any(upload.size for upload in uploads):
            raise HTTPException(400, "The file is empty; send a picture.")
        yield uploads


def in_time(receive: Receive) -> Receive:
    """Pass a body on as long as it comes; whoever is too slow is told so, and dropped."""
    end = anyio.current_time() + BODY_S

    async def timed() -> Message:
        left = min(end - anyio.current_time(), STILL_S)
        with anyio.move_on_after(max(left, 0.0)):
            return await receive()
        raise HTTPException(408, "That upload came too slowly; try again.", {"Connection": "close"})

    return timed


def _counting(receive: Receive, limit: int, too_large: HTTPException) -> Receive:
    """Pass a body on until it is longer than ``limit``, whatever its headers said."""
    n_bytes = 0

    async def counted() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > limit:
            raise too_large
        return message

    return counted
