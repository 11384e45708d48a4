"""Fuzzers of the server: uploads, query parameters, addresses and headers, without a socket."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from fieldguide.guide import Guide
from fieldguide.site.server import create_app
from tests.fuzz.files import draw_pictures
from tests.fuzz.harm import harm_bytes
from tests.fuzz.runner import Fuzzer

TEXTS = (
    "disc",
    "",
    " ",
    "%",
    "%00",
    "\0",
    "a\0b",
    "<script>alert(1)</script>",
    "'\"--",
    "-" * 2000,
    ",,,",
    "not",
    "kind:disc",
    "kind:",
    "word:",
    "file:",
    "date:",
    "date:2021-05",
    "date:9999-99-99",
    "date:-1",
    "doubt",
    '"',
    '"a',
    "🦜",
    "\ud800",
    "é" * 500,
    "../../etc/passwd",
    "*",
    "_",
    "%%%",
    "(" * 900,
    "\\",
    "1e999",
    "NaN",
    "9" * 40,
    "-1",
    "0",
    "1",
    "2",
    "1000000000",
    "١",
    "1.5",
    "+1",
    "square",
    "stripe",
    "index.html",
    "{{7*7}}",
)
PATHS = (
    "/",
    "/search.html",
    "/compare.html",
    "/api/find",
    "/api/guide",
    "/api/edition",
    "/kinds.html",
    "/pictures/{}",
    "/assets/{}",
    "/originals/{}",
    "/kind/{}",
    "/branch/{}",
    "/word/{}",
    "/specimen/{}",
    "/{}",
    "/edit",
    "/edits.html",
    "/healthz",
    "/api/identify",
    "/pictures/../{}",
    "//{}",
    "/api/{}",
)


def call(app, method: str, target: str, headers: list, body: list[bytes]) -> tuple[int, bytes]:
    """Ask an ASGI application; return the status and what it answered."""
    path, _, query = target.partition("?")
    parts = [*body] or [b""]
    sent: list[dict] = []

    async def receive() -> dict:
        if parts:
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        return {"type": "http.disconnect"}

    async def send(message: dict) -> None:
        sent.append(message)

    from urllib.parse import unquote

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path, errors="replace"),
        "raw_path": path.encode(),
        "query_string": query.encode("utf-8", "surrogatepass"),
        "root_path": "",
        "headers": headers,
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 9),
    }
    with ThreadPoolExecutor(1) as thread:  # a browser may have a loop in this one
        thread.submit(asyncio.run, app(scope, receive, send)).result()
    statuses = [m["status"] for m in sent if m["type"] == "http.response.start"]
    answer = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    return (statuses[0] if statuses else 0), answer


def prepare(work: Path, guides: dict[str, Path]) -> object:
    guide = Guide.open(guides["small"])
    return guide.folder, draw_pictures()


def make_app(folder: Path, kept: dict = {}):  # noqa: B006  (one for each process)
    import os

    if kept.get("of") != os.getpid():
        kept.clear()
        kept.update(of=os.getpid(), app=create_app(Guide.open(folder), max_upload_mb=1))
    return kept["app"]


def attempt_query(state, seed: int) -> bool:
    folder, _ = state
    rng = random.Random(seed)
    names = ("q", "page", "limit", "a", "b", "token", "x")

    def write(text: str) -> str:
        if rng.random() < 0.2:
            return quote(harm_bytes(text.encode("utf-8", "surrogatepass"), rng), safe="")
        return quote(text.encode("utf-8", "surrogatepass"), safe=rng.choice(("", "/:,")))

    pairs = [
        f"{rng.choice(names)}={write(rng.choice(TEXTS))}" for _ in range(rng.choice((0, 1, 2, 3)))
    ]
    path = rng.choice(PATHS).replace("{}", write(rng.choice(TEXTS)))
    host = rng.choice(("127.0.0.1", "127.0.0.1", "127.0.0.1", "localhost:8000", "evil.example", ""))
    headers = [(b"host", host.encode()), (b"accept", rng.choice((b"text/html", b"*/*")))]
    if rng.random() < 0.1:
        headers.append((b"if-none-match", harm_bytes(b'"abc", W/"d"', rng)))
    if rng.random() < 0.1:
        headers.append((b"cookie", harm_bytes(b"fieldguide-edit-x=1; b=2", rng)))
    if rng.random() < 0.1:
        headers.append((b"range", harm_bytes(b"bytes=0-5,7-9", rng)))
    target = f"{path}?{'&'.join(pairs)}" if pairs else path
    status, answer = call(make_app(folder), "GET", target, headers, [])
    assert 200 <= status < 500, f"{status} for {target[:200]!r}"
    assert b"<script>alert(1)" not in answer or not answer.startswith(b"<!"), target[:200]
    return status < 400


def attempt_upload(state, seed: int) -> bool:
    folder, pictures = state
    rng = random.Random(seed)
    picture = rng.choice(pictures)
    if rng.random() < 0.9:
        picture = harm_bytes(picture, rng)[: rng.choice((99, 999, 10**6))]
    body = (
        b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.jpg"\r\n'
        b"Content-Type: image/jpeg\r\n\r\n" + picture + b"\r\n--x--\r\n"
    )
    if rng.random() < 0.5:
        start = harm_bytes(body[:110], rng)
        body = start + body[110:]
    if rng.random() < 0.1:
        body = harm_bytes(body, rng)
    kind = b"multipart/form-data; boundary=x"
    headers = [(b"host", b"127.0.0.1")]
    headers.append((b"content-type", harm_bytes(kind, rng) if rng.random() < 0.2 else kind))
    length = str(len(body)).encode()
    if rng.random() < 0.3:
        length = rng.choice((b"0", b"-1", b"9" * 30, b"x", b"5", b"1000000", length))
    headers.append((b"content-length", length))
    if rng.random() < 0.1:
        headers.append((b"origin", rng.choice((b"null", b"http://evil", b"http://127.0.0.1"))))
    path = rng.choice(("/api/identify", "/identify.html", "/api/entry.html", "/api/identify.html"))
    cuts = sorted(rng.randrange(len(body) + 1) for _ in range(rng.choice((0, 0, 3, 9))))
    parts = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    if rng.random() < 0.1:
        parts = parts[: rng.randrange(len(parts)) + 1]
    status, _ = call(make_app(folder), "POST", path, headers, parts)
    assert status == 0 or 200 <= status < 500, status
    return status == 200


QUERIES = Fuzzer("queries", prepare, attempt_query, ())
UPLOADS = Fuzzer("uploads", prepare, attempt_upload, ())
