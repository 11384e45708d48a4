"""Files as answers: with a tag by which a browser knows what it has already."""

import os
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response


def send_file(request: Request, path: Path, root: Path, cache: str) -> Response:
    """Send a file that lies under ``root``, links followed; 404 for anything else."""
    try:
        found = path.resolve(strict=True)
        status = found.stat()
    except (OSError, ValueError, RuntimeError):
        raise HTTPException(404) from None
    if not found.is_relative_to(root.resolve()) or not found.is_file():
        raise HTTPException(404)
    tag = tag_of(status)
    headers = {"ETag": tag, "Cache-Control": cache}
    if is_known(request, tag):
        return Response(status_code=304, headers=headers)
    return FileResponse(found, headers=headers, stat_result=status)


def tag_of(status: os.stat_result) -> str:
    """Return the tag of a file."""
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether a browser has what the tag stands for."""
    known = request.headers.get("if-none-match", "")
    return tag in (part.strip().removeprefix("W/") for part in known.split(","))
