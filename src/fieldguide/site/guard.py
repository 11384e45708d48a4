"""What every answer of the server goes through: hosts, headers, and one shape for errors.

Errors are ``{"error": {"status": 413, "message": "One sentence."}}``, except that a browser, which
says that it takes ``text/html``, gets a page outside ``/api/``. No answer ever carries a stack
trace.

A web page elsewhere can point a name of its own at this machine (DNS rebinding) and would then
read the guide as if it were its own: requests whose ``Host`` is not a name that this server was
told to answer to are refused. IP addresses cannot be pointed elsewhere, so a server that
listens on every interface answers to all of them.
"""

import ipaddress
import logging
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fieldguide._languages import ENGLISH, choose_language, message, say, speaking
from fieldguide.errors import FieldguideError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_ADDRESS = "any address"  # in a list of allowed hosts

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # A form of a page with "no-referrer" is sent with "Origin: null", as one from elsewhere is.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_SENTENCES = {
    400: message("The request cannot be understood."),
    404: message("The guide has nothing at this address."),
    405: message("This address does not take that kind of request."),
    500: message("Something went wrong inside the guide; its log says what."),
    503: message(
        "The files of this guide cannot be read at the moment; the server's log says why."
    ),
}
_THREADS = 8  # that make pages: more would not be quicker, and each keeps memory of its own
_log = logging.getLogger("fieldguide.site")


class Guard:
    """ASGI middleware: check the host, add the headers, turn every failure into an answer."""

    def __init__(
        self,
        app: ASGIApp,
        allowed_hosts: Iterable[str],
        missing_page: Callable[[str], str],
        language: str | None = None,
    ) -> None:
        self.app = app
        self.allowed_hosts = frozenset(host.lower().strip("[]") for host in allowed_hosts)
        self.missing_page = missing_page
        self.language = language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, in the language of its reader."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with speaking(self._choose_language(scope)):
            await self._answer(scope, receive, send)

    def _choose_language(self, scope: Scope) -> str:
        """Return the language of a page; what programs ask for is in English."""
        path = Request(scope).url.path
        if path.startswith("/api/") and not path.endswith(".html"):
            return ENGLISH
        accepted = Headers(scope=scope).get("accept-language", "")
        return self.language or choose_language(accepted)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        started = False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope)
        try:
            self._check(scope)
            await self.app(scope, receive, send_guarded)
        except HTTPException as error:
            await error_response(request, error, self.missing_page)(scope, receive, send_guarded)
        except ClientDisconnect:
            _log.info("%s %r was given up by its client", scope["method"], scope["path"])
        except Exception as error:
            is_told = isinstance(error, FieldguideError)  # such as of a file that is gone
            if is_told:
                _log.error("%s %r failed: %s", scope["method"], scope["path"], error)
            else:
                _log.exception("%s %r failed", scope["method"], scope["path"])
            if started:
                raise
            status = 503 if is_told else 500
            failure = HTTPException(status, say(_SENTENCES[status]))
            await error_response(request, failure, self.missing_page)(scope, receive, send_guarded)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if not self._allows(headers.get("host", "")):
            raise HTTPException(
                421,
                say("This guide does not answer to that host name; use the address it printed."),
            )
        origin = headers.get("origin")
        is_foreign = origin is not None and _netloc(origin) != headers["host"].lower()
        if is_foreign and scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(403, say("Only the guide's own pages may ask this."))

    def _allows(self, host_header: str) -> bool:
        try:
            name = urlsplit(f"//{host_header}").hostname or ""
        except ValueError:
            return False
        if name in self.allowed_hosts:
            return True
        return ANY_ADDRESS in self.allowed_hosts and _is_ip_address(name)


def error_response(
    request: Request, error: HTTPException, missing_page: Callable[[str], str]
) -> Response:
    """Answer with an error: JSON for programs, a page for people."""
    status, message = error.status_code, word_error(error)
    headers = {**(error.headers or {}), "Cache-Control": "no-store"}
    if wants_json(request):
        body = {"error": {"status": status, "message": message}}
        return JSONResponse(body, status_code=status, headers=headers)
    if status == 404:
        root = request.scope.get("root_path", "") + "/"
        return HTMLResponse(missing_page(root), status_code=404, headers=headers)
    return Response(message + "\n", status_code=status, headers=headers, media_type="text/plain")


def word_error(error: HTTPException) -> str:
    """Return what an error says, as one sentence."""
    default = HTTPException(error.status_code).detail
    if error.detail != default or error.status_code not in _SENTENCES:
        return error.detail
    return say(_SENTENCES[error.status_code])


def wants_json(request: Request) -> bool:
    """Whether a program, rather than a person in a browser, asks."""
    if request.url.path.startswith("/api/") or request.url.path == "/api":
        return True
    return "text/html" not in request.headers.get("accept", "")


def warn_of_host(host: str) -> str:
    """Return what to tell somebody whose guide other machines can reach; "" where none can."""
    try:
        is_own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if is_own:
        return ""
    return (
        "Every machine that reaches this one can read the guide and send it pictures; names of "
        "files, dates and places are on its pages. Use --host 127.0.0.1 to keep it to yourself."
    )


def hosts_for(bind_host: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Which ``Host`` values to answer to when listening on ``bind_host``."""
    allowed = [*LOOPBACK, *names]
    if bind_host in ("0.0.0.0", "::", ""):
        allowed.append(ANY_ADDRESS)
    else:
        allowed.append(bind_host)
    return tuple(dict.fromkeys(allowed))


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
