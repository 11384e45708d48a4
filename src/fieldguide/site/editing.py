"""Editing a served guide: who may, and what a form asks for.

``fieldguide serve --edit`` prints an address with a token, once. Opening it gives the browser a
cookie, which no script reads and no other site sends, and leads to the page without the token. An
edit is a form that is posted: with the cookie, from a page of this server (``Origin`` or
``Sec-Fetch-Site`` must say so), small, and of a kind that other sites cannot make with the cookie.
Without ``--edit`` the server has none of these addresses.
"""

import hashlib
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from fieldguide._languages import say
from fieldguide.errors import EditError
from fieldguide.guide.edits import Edit, Target
from fieldguide.guide.edits.records import FORMS, IMAGE, SPECIMEN, WORD
from fieldguide.guide.edits.targets import is_digest
from fieldguide.site.lessons import MOST_TAUGHT
from fieldguide.site.uploads import in_time

if TYPE_CHECKING:
    from fieldguide.guide import Guide

MOST_BYTES = 64 * 1024  # of a form
_FIELDS = 16 + MOST_TAUGHT  # of a form
_FORM = "application/x-www-form-urlencoded"


class Editing:
    """Who may edit: whoever has the token, and then the browser that it was opened in."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._session = secrets.token_urlsafe(32)
        # Cookies do not tell ports apart: the name is that of this server alone.
        self._cookie = f"fieldguide-edit-{hashlib.sha256(token.encode()).hexdigest()[:12]}"

    def is_editor(self, request: Request) -> bool:
        """Whether a request comes from a browser that may edit."""
        return _is_same(request.cookies.get(self._cookie, ""), self._session)

    def enter(self, request: Request) -> Response:
        """Answer the address with the token: give the cookie, and lead to the home page."""
        if not _is_same(request.query_params.get("token", ""), self._token):
            raise HTTPException(403, say("That is not the address that this guide is edited at."))
        home = f"{request.scope.get('root_path', '')}/"
        response = RedirectResponse(home, status_code=303, headers={"Cache-Control": "no-store"})
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict")
        return response

    def check(self, request: Request) -> None:
        """Refuse an edit that does not come from an editor's own page."""
        if not self.is_editor(request):
            raise HTTPException(
                403, say("This browser may not edit; open the address that “serve --edit” printed.")
            )
        # The guard has refused every other origin already.
        site = request.headers.get("sec-fetch-site")
        if site not in (None, "same-origin") or not (site or request.headers.get("origin")):
            raise HTTPException(403, say("Only the guide's own pages may ask this."))


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a small form; an HTTPException says what is wrong with it."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, say("Send an edit as the form of a page does."))
    body = b""
    async for part in Request(request.scope, in_time(request.receive)).stream():
        body += part
        if len(body) > MOST_BYTES:
            raise HTTPException(413, say("That edit is too long."), {"Connection": "close"})
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_FIELDS
        )
    except ValueError:
        raise HTTPException(400, say("That form cannot be read.")) from None
    return dict(pairs)


def draft_edit(guide: "Guide", form: dict[str, str]) -> Edit:
    """Return the edit that a form asks for; EditError where it cannot be made."""
    verb, name = form.get("verb", ""), form.get("name", "")
    if verb == "undo":
        number = form.get("undoes", "")
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise EditError("Say which edit to undo, by its number.")
        return Edit("undo", undoes=int(number))
    if form.get("edition") != str(guide.about.get("edition")):
        raise EditError("The guide was built again meanwhile; look at its page, and edit again.")
    if verb == "teach":
        return _draft_lesson(guide, name, form)
    value, about = form.get("value", ""), form.get("form", "")
    if verb == "word" and form.get("shows") == "no":
        value = f"not {value}"
    if about not in FORMS:
        raise EditError(f"An edit is about a {', '.join(FORMS)}; got {about!r}.")
    target, said = Target(about, name), ""
    if about == IMAGE:  # a name alone would be a file of this machine
        target, said = Target(IMAGE, name[:200], form.get("digest", "")), form.get("said", "")
        if not (said and is_digest(target.digest)):
            raise EditError("An answer about an image is known by its digest and what was said.")
    return guide.edits.draft(verb, target, value, note=form.get("note", ""), said=said)


def _draft_lesson(guide: "Guide", word: str, form: dict[str, str]) -> Edit:
    """Return the edit of a form whose fields ``s7`` say of specimens whether they show a word."""
    sides: dict[str, list[str | Target]] = {"yes": [], "no": []}
    for field, side in form.items():
        i = field[1:]
        if not (field[:1] == "s" and i.isascii() and i.isdecimal() and side in sides):
            continue
        if len(i) > 9 or int(i) >= guide.n_specimens:
            raise EditError(f"No specimen has the number {i[:20]}; look at the page again.")
        specimen = guide.specimen(int(i))
        sides[side].append(Target(SPECIMEN, specimen.path, guide.digests[specimen.id]))
    return guide.edits.draft("teach", Target(WORD, word), yes=sides["yes"], no=sides["no"])


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())
