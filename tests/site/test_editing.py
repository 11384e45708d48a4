"""A served guide that may be edited: who may, by what forms, and what is refused."""

import io
from urllib.parse import urlencode

import pytest
from PIL import Image
from starlette.testclient import TestClient

from fieldguide.collection import digest_of
from fieldguide.guide import Guide
from fieldguide.guide.edits import FILE_NAME, EditLog
from fieldguide.site import create_app

BASE = "http://127.0.0.1"
TOKEN = "a token that nobody guesses"
HERE = {"Origin": BASE, "Accept": "text/html"}


def connect(folder, token=TOKEN):
    app = create_app(Guide.open(folder), edit_token=token)
    return TestClient(app, base_url=BASE, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture
def editor(folder):
    """A browser that has opened the address with the token."""
    client = connect(folder)
    entered = client.get("/edit", params={"token": TOKEN})
    assert entered.status_code == 303
    assert entered.headers["location"] == "/"
    assert TOKEN not in entered.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part in entered.headers["set-cookie"]
    return client


def fields(verb, form, name, value="", **more):
    given = {"verb": verb, "form": form, "name": name, "value": value, "edition": "1"}
    return {**given, "back": "specimen/0.html", **more}


KIND = fields("kind", "specimen", "disc/000000.png", "square")


def post(client, form=KIND, headers=HERE):
    return client.post("/edit", data=form, headers=headers)


def n_edits(folder):
    return len(EditLog(folder).read().edits)


def test_an_edit_shows_at_once(editor, folder):
    made = post(editor)
    assert made.status_code == 303
    assert made.headers["location"] == "/specimen/0.html#edit"
    assert Guide.open(folder).specimen(0).kind == "square"
    page = editor.get("/specimen/0.html").text
    assert ">square</a></h1>" in page
    assert "disc/000000.png is “square”" in page
    history = editor.get("/edits.html").text
    assert "1 edit holds; 1 of them" in history
    undone = post(editor, {"verb": "undo", "undoes": "1", "back": "edits.html"})
    assert undone.headers["location"] == "/edits.html#edit"
    assert "undone" in editor.get("/edits.html").text
    assert Guide.open(folder).specimen(0).kind == "disc"


def test_every_page_says_that_it_may_be_edited_to_editors_alone(editor, folder):
    reader = connect(folder)
    for address in ("/", "/kinds.html", "/about.html", "/specimen/0.html", "/branch/1.html"):
        assert "You may edit this guide" in editor.get(address).text
        shown = reader.get(address)
        assert "You may edit" not in shown.text
        assert 'action="../edit"' not in shown.text
        assert shown.headers["vary"] == "Accept-Language, Cookie"
    assert reader.get("/edits.html").status_code == 404
    assert reader.get("/teach.html").status_code == 404


def test_without_the_switch_nothing_is_written(folder):
    client = connect(folder, token=None)
    assert client.get("/edit", params={"token": TOKEN}).status_code == 404
    assert client.get("/edits.html").status_code == 404
    assert client.get("/teach.html").status_code == 404
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert client.request(method, "/edit", data=KIND, headers=HERE).status_code == 405
    assert not (folder / FILE_NAME).exists()


@pytest.mark.parametrize("token", ["", "wrong", "ä", TOKEN + "x"])
def test_without_the_token_nobody_edits(folder, token):
    client = connect(folder)
    assert client.get("/edit", params={"token": token}).status_code == 403
    assert post(client).status_code == 403
    client.cookies.set("fieldguide-edit", "guess")
    assert post(client).status_code == 403
    assert n_edits(folder) == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": BASE + ":9999"},
        {"Origin": BASE, "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {},
    ],
)
def test_other_sites_edit_nothing_even_with_the_cookie(editor, folder, headers):
    assert post(editor, headers=headers).status_code == 403
    assert n_edits(folder) == 0


def test_edits_are_posted_as_small_forms(editor, folder):
    assert editor.get("/edit", params=KIND, headers=HERE).status_code == 403
    for method in ("PUT", "PATCH", "DELETE"):
        assert editor.request(method, "/edit", data=KIND, headers=HERE).status_code == 405
    assert editor.post("/edit", json=KIND, headers=HERE).status_code == 415
    assert editor.post("/edit", files={"a": b"b"}, headers=HERE).status_code == 415
    large = {**KIND, "note": "x" * 70_000}
    assert post(editor, large).status_code == 413
    as_form = {**HERE, "Content-Type": "application/x-www-form-urlencoded"}
    many = urlencode([(f"f{k}", "x") for k in range(50)])
    for body in (many, b"\xff\xfe", "verb=%ff"):
        assert editor.post("/edit", content=body, headers=as_form).status_code == 400
    assert n_edits(folder) == 0


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (fields("praise", "specimen", "0"), "There is no edit"),
        (fields("kind", "specimen", "nowhere.png", "x"), "No specimen is called"),
        (fields("hide", "branch", "999"), "No branch is called"),
        (fields("merge", "kind", "disc", "nothing like it"), "No kind of this guide"),
        (fields("kind", "planet", "0", "x"), "An edit is about a guide"),
        (fields("right", "image", "/etc/passwd"), "is known by its digest"),
        (fields("right", "image:/etc/passwd", ""), "An edit is about a guide"),
        (fields("right", "image", "a.png", said="x", digest="../../etc"), "known by its digest"),
        ({**KIND, "edition": "7"}, "built again meanwhile"),
        ({"verb": "undo", "undoes": "1"}, "There is no edit 1 to undo"),
        ({"verb": "undo", "undoes": "-1"}, "by its number"),
        ({"x": "y"}, "built again meanwhile"),
        (fields("teach", "word", "round"), "Say which pictures show"),
        (fields("teach", "word", "round", s0="yes", s1="yes"), "at least 2 pictures that do not"),
        (fields("teach", "word", "round", s0="yes", s99="no"), "No specimen has the number 99"),
        (fields("teach", "word", "round", s0="maybe", x1="yes"), "Say which pictures show"),
    ],
)
def test_what_cannot_be_edited_is_said_on_the_page(editor, folder, form, message):
    answer = post(editor, form)
    assert answer.status_code == 400
    assert message in answer.text
    assert "<h1>Edits</h1>" in answer.text
    plain = post(editor, form, headers={"Origin": BASE, "Accept": "application/json"})
    assert plain.json()["error"]["message"].endswith(".")
    assert n_edits(folder) == 0


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/", "nowhere.html", ""])
def test_one_comes_back_to_a_page_of_the_guide(editor, back):
    made = post(editor, {**KIND, "back": back})
    assert made.headers["location"] == "/edits.html#edit"


def test_names_are_text_and_nothing_else(editor, folder):
    bad = "<script>alert(1)</script>\"'{{ 7 * 7 }}"
    post(editor, {**KIND, "value": bad, "note": bad})
    post(editor, fields("rename", "branch", "1", bad))
    post(editor, fields("note", "guide", "", bad))
    post(editor, fields("note", "specimen", "disc/000000.png", bad))
    post(editor, fields("word", "specimen", "disc/000000.png", bad))
    assert n_edits(folder) == 5
    guide = Guide.open(folder)
    slug = guide.kind(bad).slug
    for address in ("", "edits.html", "specimen/0.html", "branch/1.html", f"kind/{slug}.html"):
        page = editor.get(f"/{address}")
        assert page.status_code == 200
        assert "<script>alert" not in page.text
    control = post(editor, {**KIND, "value": "a\x00b"})
    assert control.status_code == 400


def test_a_word_is_taught_by_a_form(editor, folder):
    bad = "<i>round</i>"
    marks = {f"s{i}": "yes" for i in range(6)} | {f"s{i}": "no" for i in range(8, 15)}
    made = post(editor, fields("teach", "word", bad, **marks))
    assert made.status_code == 303
    assert made.headers["location"] == "/word/i-round-i.html#edit"
    assert len(Guide.open(folder).taught[bad].lesson.no) == 7
    again = "/teach.html?word=%3Ci%3Eround%3C/i%3E&q=%22%3E%3Cb%3E"
    for address in ("/word/i-round-i.html", again):
        page = editor.get(address)
        assert page.status_code == 200
        assert bad not in page.text
        assert "<b>" not in page.text
        assert "Held out in turn" in page.text


def test_an_answer_about_a_picture_is_judged(editor, folder):
    data = io.BytesIO()
    Image.new("RGB", (60, 60), "teal").save(data, "PNG")
    page = editor.post(
        "/identify.html", files={"image": ("new.png", data.getvalue())}, headers=HERE
    ).text
    digest = digest_of(data.getvalue())
    assert f'name="digest" value="{digest}"' in page
    judged = {"said": "disc", "digest": digest, "back": "edits.html"}
    assert post(editor, fields("wrong", "image", "new.png", "square", **judged)).status_code == 303
    (edit,) = Guide.open(folder).edits.judged(digest)
    assert (edit.verb, edit.said, edit.value, edit.target.name) == (
        *("wrong", "disc", "square"),
        "new.png",
    )
    assert "the key is wrong that new.png is “disc”: it is “square”" in (
        editor.get("/edits.html").text
    )


def test_edits_of_two_editors_and_of_the_command_line_meet(editor, folder):
    other = connect(folder)
    other.get("/edit", params={"token": TOKEN})
    post(editor)
    post(other, fields("exclude", "specimen", "disc/000001.png"))
    Guide.open(folder).edits.add("pin", "2")
    for client in (editor, other):
        page = client.get("/edits.html").text
        assert "3 edits hold" in page
