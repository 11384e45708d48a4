"""The server: what it serves, what it refuses, and that it stays up."""

import io
import json
import logging
import re
import shutil
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest
import uvicorn
from PIL import Image
from starlette.testclient import TestClient
from tests.conftest import draw_blobs

from fieldguide.errors import FieldguideError
from fieldguide.guide import Guide
from fieldguide.site import Renderer, create_app, serve, server
from fieldguide.site.guard import LOOPBACK, hosts_for
from fieldguide.site.listening import FIRST_PORT, listen
from fieldguide.site.server import configure

BASE = "http://127.0.0.1"


def png(size=(40, 30)):
    data = io.BytesIO()
    Image.new("RGB", size, "teal").save(data, "PNG")
    return data.getvalue()


def connect(guide, **settings):
    return TestClient(create_app(guide, **settings), base_url=BASE, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client(guide):
    with connect(guide) as client:
        yield client


def check_error(response, status):
    """One shape for every error: a status and one sentence, no trace."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert response.json().keys() == {"error"}
    assert error.keys() == {"status", "message"}
    assert error["status"] == status
    assert error["message"].endswith(".")
    assert "Traceback" not in response.text


def test_every_page_asset_and_picture_is_served(guide, client):
    assert client.get("/").text == client.get("/index.html").text
    kind = f"kind/{guide.kinds[0].slug}.html"
    for address in ("kinds.html", "branch/1.html", "specimen/7.html", kind):
        response = client.get(f"/{address}")
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert client.get("/assets/style.css").headers["content-type"].startswith("text/css")
    assert "javascript" in client.get("/assets/search.js").headers["content-type"]
    picture = client.get(f"/{guide.specimen(3).picture}")
    assert picture.headers["content-type"] == "image/jpeg"
    assert Image.open(io.BytesIO(picture.content)).size


def test_every_answer_is_guarded(client):
    for address in ("/", "/nope", "/api/nope", "/assets/style.css", "/healthz"):
        headers = client.get(address).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("address", ["/", "/assets/style.css", "/specimen/0.html"])
def test_what_is_known_is_not_sent_again(client, address):
    first = client.get(address)
    again = client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_has_headers_alone(guide, client):
    for address in ("/", f"/{guide.specimen(0).thumbnail}", "/assets/style.css"):
        response = client.head(address)
        assert response.status_code == 200
        assert int(response.headers["content-length"]) > 0
        assert response.content == b""
    assert client.head("/nope").status_code == 404


def test_what_fits_a_query_is_a_page_and_data(guide, client):
    word, n, _ = max(guide.words, key=lambda each: each[1])
    page = client.get("/search.html", params={"q": word})
    assert page.status_code == 200
    assert page.text.count('<span class="mount">') == 60 < n
    second = client.get("/search.html", params={"q": word, "page": 2})
    assert second.text.count('<span class="mount">') == min(n - 60, 60)
    told = client.get("/api/find", params={"q": word, "limit": 3}).json()
    assert told["total"] == n
    assert len(told["finds"]) == 3
    assert told["finds"][0]["because"] == [word]
    known = client.get(
        "/search.html", params={"q": word}, headers={"If-None-Match": page.headers["etag"]}
    )
    assert known.status_code == 304


def test_an_empty_query_is_the_index(client):
    assert client.get("/search.html?q=").text == client.get("/search.html").text
    assert client.get("/search.html?q=%20").text == client.get("/search.html").text


@pytest.mark.parametrize("number", ["0", "-1", "999", "1e3", "x", "%00", "9" * 20, ""])
def test_a_page_of_finds_that_there_is_not_is_missing(client, guide, number):
    assert client.get(f"/search.html?q={guide.words[0][0]}&page={number}").status_code == 404


@pytest.mark.parametrize(
    "query",
    ["<script>alert(1)</script>", "%27%3B%20DROP%20TABLE%20shows", "%00", "%ff%fe", '"',
     "../../etc", "x" * 600, "a%20" * 100, "%25%25", "file:%5C", "&q=b"],
)  # fmt: skip
def test_hostile_queries_are_answered(client, query):
    page = client.get(f"/search.html?q={query}")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    told = client.get(f"/api/find?q={query}")
    if told.status_code == 200:
        assert told.json()["terms"]
    else:
        check_error(told, 400)


def test_any_two_kinds_are_a_page(client, guide):
    first, *_, last = (kind.name for kind in guide.kinds)
    asked = {"a": last, "b": first}
    page = client.get("/compare.html", params=asked)
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert f"{guide.shown_name(last)} or {guide.shown_name(first)}" in page.text
    known = client.get(
        "/compare.html", params=asked, headers={"If-None-Match": page.headers["etag"]}
    )
    assert known.status_code == 304
    assert client.get("/compare.html?a=&b=").text == client.get("/compare.html").text
    assert client.post("/compare.html", params=asked).status_code == 405


@pytest.mark.parametrize(
    "query",
    ["a=robin&b=robin", "a=<script>alert(1)</script>&b=x", "a=%00&b=%ff%fe", "a=../..&b=%27",
     "b=x", f"a={'x' * 5000}&b=y", "a=1&a=2&b=3&b=4"],
)  # fmt: skip
def test_hostile_comparisons_are_answered(hostile_guide, query):
    page = connect(hostile_guide).get(f"/compare.html?{query}")
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert page.text.count("<select") == 2


def test_a_guide_of_one_kind_has_nothing_to_compare(bare_guide):
    client = connect(bare_guide)
    for address in ("/compare.html", "/compare.html?a=only&b=only", "/pair/only--only.html"):
        assert client.get(address).status_code == 404


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_none_is_refused(client, limit):
    check_error(client.get(f"/api/find?q=red&limit={limit}"), 400)


TRAVERSALS = (
    "/../guide.json",
    "/%2e%2e/guide.json",
    "/assets/../server.py",
    "/assets/..%2fserver.py",
    "/assets/%2e%2e/server.py",
    "/assets/%252e%252e/server.py",
    "/assets/",
    "/assets/.",
    "/assets/..",
    "/assets/style.css%00.html",
    "/assets/C:%5Cwindows",
    "/pictures/",
    "/pictures/..%2f..%2fetc%2fpasswd",
    "/pictures/%2e%2e/guide.json",
    "/pictures//etc/passwd",
    "/pictures/00/../../secret.txt",
    "/pictures/unlisted.jpg",
    "/pictures/%00",
    "/secret.txt",
    "/templates/base.html",
    "//etc/passwd",
    "/kind/..%2f..%2fsecret.txt",
    "/404.html",
)


@pytest.fixture(scope="module")
def base(guide):
    (guide.folder / "secret.txt").write_text("secret")
    (guide.folder / "pictures" / "unlisted.jpg").write_text("secret")
    with live(guide) as address:
        yield address


@pytest.mark.parametrize("address", TRAVERSALS)
def test_nothing_outside_the_guide_is_served(base, address):
    response = raw_get(base, address)
    assert response.startswith(b"HTTP/1.1 404"), response[:200]
    body = json.loads(response.split(b"\r\n\r\n", 1)[1])
    assert body == {"error": {"status": 404, "message": "The guide has nothing at this address."}}


def test_links_out_of_the_guide_are_not_followed(make_stand_in, tmp_path):
    guide = make_stand_in([("k", (), (32, 24), f"{i}.jpg") for i in range(2)])
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(b"secret")
    listed = guide.folder / guide.specimen(0).thumbnail
    listed.unlink()
    listed.symlink_to(secret)
    (guide.folder / guide.specimen(1).thumbnail).unlink()
    client = connect(guide)
    for i in range(2):
        response = client.get(f"/{guide.specimen(i).thumbnail}")
        assert response.status_code == 404
        assert b"secret" not in response.content


OPTIONS = {"features": "deep", "n_jobs": 1}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder of images and its guide."""
    home = tmp_path_factory.mktemp("built")
    for i, (image, kind) in enumerate(zip(*draw_blobs(n_per_kind=4), strict=True)):
        (home / "images" / kind).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(home / "images" / kind / f"{i:02d}.png")
    Guide.build(home / "images", home / "guide", **OPTIONS)
    return home


@pytest.fixture
def rebuilt(built, tmp_path):
    """A folder of images, a server of its guide, and what builds the guide again."""
    home = shutil.copytree(built, tmp_path / "home")
    root, out = home / "images", home / "guide"
    return root, connect(Guide.open(out)), lambda: Guide.build(root, out, **OPTIONS)


def test_a_guide_that_is_built_again_is_served_whole(rebuilt):
    """An old catalogue over new arrays gave wrong neighbours, and pictures went missing."""
    root, client, build = rebuilt
    assert client.get("/api/guide").json()["specimens"] == 12
    old_page = client.get("/specimen/0.html").text
    old_pictures = set(re.findall(r"pictures/[^\"' ]+\.(?:jpg|png)", old_page))
    for path in sorted((root / "disc").iterdir())[:2]:
        path.unlink()
    (root / "disc" / "03.png").rename(root / "stripe" / "99.png")
    guide = build()
    assert client.get("/api/guide").json()["specimens"] == 10
    renderer = Renderer(Guide.open(guide.folder), live=True)
    for address in renderer.addresses():
        if address != "404.html":
            assert client.get(f"/{address}").text == renderer.page(address)
    new_pictures = {s.picture for s in guide.specimens(range(10))}
    for address in old_pictures | new_pictures:  # who reads an old page still sees its pictures
        assert client.get(f"/{address}").status_code == 200, address
    answer = client.post("/api/identify", files={"image": png()}).json()
    expected = connect(guide).post("/api/identify", files={"image": png()}).json()
    assert answer == expected


def test_an_answer_is_of_one_edition(rebuilt, monkeypatch):
    """A build that ends while a picture is identified changes nothing of that answer."""
    root, client, build = rebuilt
    before = client.post("/api/identify", files={"image": png()}).json()
    identify, built = Guide.identify, []

    def build_meanwhile(self, images):
        if not built:
            for path in sorted((root / "square").iterdir()):
                path.unlink()
            built.append(build())
        return identify(self, images)

    monkeypatch.setattr(Guide, "identify", build_meanwhile)
    during = client.post("/api/identify", files={"image": png()}).json()
    assert during == before
    assert client.get("/api/guide").json()["kinds"] == ["disc", "stripe"]


def test_a_guide_that_cannot_be_opened_leaves_the_old_one_up(rebuilt, caplog):
    _, client, build = rebuilt
    folder = build().folder
    page = client.get("/").text
    info = json.loads((folder / "guide.json").read_text())
    (folder / "guide.json").write_text(json.dumps(info | {"format": 99}))
    with caplog.at_level(logging.ERROR):
        assert client.get("/").text == page
    assert "cannot be opened" in caplog.text
    (folder / "guide.json").unlink()
    assert client.get("/").text == page


def test_missing_pages_are_pages_for_people_and_json_for_programs(client):
    page = client.get("/deep/down/nope.html", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert 'href="/assets/style.css"' in page.text
    check_error(client.get("/nope.html", headers={"Accept": "application/json"}), 404)
    check_error(client.get("/api/nope"), 404)
    check_error(client.get("/api"), 404)
    check_error(client.get("/api/identify"), 405)
    check_error(client.post("/api/guide"), 405)


def test_identify_answers(guide, client):
    response = client.post("/api/identify", files={"image": ("a.png", png(), "image/png")})
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert response.json() == guide.identify([png()])[0].to_plain()


class Links(HTMLParser):
    """Collects what a part of a page refers to, and its ids."""

    def __init__(self, html):
        super().__init__()
        self.links, self.ids = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[name] for name in ("href", "src") if name in values]
        self.ids += [values["id"]] if "id" in values else []


def test_identify_gives_elements_for_the_page(guide, client):
    html = client.post("/api/identify.html", files={"image": png()}).text
    found = Links(html)
    assert found.ids == ["shown", "answer"]
    asked = [link for link in found.links if not link.startswith("data:image/jpeg;base64,")]
    assert len(asked) > 10
    for address in asked:
        assert client.get(f"/{address}").status_code == 200
    assert html.count("data:image/jpeg") >= 1


def test_identify_works_by_a_form(guide, client):
    page = client.post("/identify.html", files={"image": png()}, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert page.text.startswith("<!doctype html>")
    answer = guide.identify([png()])[0]
    best = answer.kinds[0]
    assert answer.none_of_these  # one colour is no creature, and that is said first
    assert re.search(r'<h2 class="answer-title"[^>]*>perhaps none of these kinds', page.text)
    assert f">{best.name}</a>: " in page.text
    fragment = client.post("/api/identify.html", files={"image": png()}).text
    for part in fragment.split('<p class="note spent">')[0].split('<div id="answer"'):
        assert part.strip() in page.text
    assert 'id="answer"' in client.get("/identify.html").text
    assert best.name not in client.get("/identify.html").text


@pytest.mark.parametrize(
    ("status", "data", "sentence"),
    [
        (415, b"this is not a picture", "That picture cannot be read: "),
        (400, b"", "The file is empty; send a picture."),
        (413, bytes(400 * 1024), "That upload is larger than 0.2 MB; send a smaller picture."),
    ],
)
def test_a_form_that_is_refused_is_a_page_with_one_sentence(guide, status, data, sentence):
    client = connect(guide, max_upload_mb=0.2)
    files = {"image": ("a.png", data, "image/png")}
    page = client.post("/identify.html", files=files, headers={"Accept": "text/html"})
    assert page.status_code == status
    assert page.text.startswith("<!doctype html>")
    assert f'<p class="error">{sentence}' in page.text
    assert 'type="file"' in page.text  # to try another
    check_error(client.post("/identify.html", files=files, headers={"Accept": "*/*"}), status)
    check_error(client.post("/api/identify.html", files=files), status)


def test_several_pictures_are_a_list(guide, client):
    files = [("image", (name, data)) for name, data in (("<b>.png", png()), ("no.png", b"x"))]
    page = client.post("/identify.html", files=files, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert page.text.count('<li class="entry-answer">') == 2
    assert "&lt;b&gt;.png" in page.text
    assert "<b>.png" not in page.text
    assert "That picture cannot be read: " in page.text
    entry = client.post("/api/entry.html", files={"image": ("<b>.png", png())}).text.strip()
    assert entry in page.text
    many = [("image", (f"{i}.png", png())) for i in range(25)]
    refused = client.post("/identify.html", files=many, headers={"Accept": "text/html"})
    assert refused.status_code == 400
    assert '<p class="error">' in refused.text
    client = connect(guide, max_upload_mb=0.2)
    large = [("image", (f"{i}.png", bytes(120 * 1024))) for i in range(2)]
    assert client.post("/identify.html", files=large).status_code == 413


def test_identify_without_kinds_gives_a_branch(plain_guide):
    answer = connect(plain_guide).post("/api/identify", files={"image": png()}).json()
    assert answer["kinds"] == []
    assert answer["branch"]["sentence"]


@pytest.mark.parametrize(
    ("status", "request_parts"),
    [
        (415, {"files": {"image": ("a.png", b"this is not a picture", "image/png")}}),
        (415, {"files": {"image": ("a.png", png()[:60], "image/png")}}),
        (400, {"files": {"image": ("a.png", b"", "image/png")}}),
        (400, {"files": {"picture": ("a.png", png(), "image/png")}}),
        (400, {"files": [("image", ("a.png", png())), ("image", ("b.png", png()))]}),
        (400, {"data": {"image": "text"}, "files": {"other": b"x"}}),
        (415, {"content": png(), "headers": {"Content-Type": "image/png"}}),
        (415, {"content": b""}),
        (400, {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}),
        (
            400,
            {
                "content": b"not multipart at all",
                "headers": {"Content-Type": "multipart/form-data; boundary=x"},
            },
        ),
    ],
)
def test_bad_uploads_are_refused_and_the_server_stays_up(client, status, request_parts):
    check_error(client.post("/api/identify", **request_parts), status)
    assert client.get("/healthz").json() == {"status": "ok"}


def test_oversize_uploads_are_refused(guide):
    client = connect(guide, max_upload_mb=0.2)
    large = {"image": ("a.png", png() + bytes(400 * 1024), "image/png")}
    check_error(client.post("/api/identify", files=large), 413)
    just_over = {"image": ("a.png", png() + bytes(int(0.2 * 1024 * 1024)), "image/png")}
    check_error(client.post("/api/identify", files=just_over), 413)
    assert client.post("/api/identify", files={"image": png()}).status_code == 200


def test_a_body_without_a_length_is_cut_off(guide):
    sent = 0

    def body():
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n'
        for _ in range(4000):
            sent += 16384
            yield bytes(16384)

    with live(guide, max_upload_mb=0.5) as base, httpx2.Client() as client:
        try:
            response = client.post(
                f"{base}/api/identify",
                content=body(),
                headers={"Content-Type": "multipart/form-data; boundary=x"},
            )
            check_error(response, 413)
        except httpx2.TransportError:
            pass  # the server hung up in the middle, which is a refusal too
        assert client.get(f"{base}/healthz").status_code == 200
    assert sent < 4000 * 16384


def test_a_declared_oversize_is_answered_over_a_real_connection(guide):
    with live(guide, max_upload_mb=1) as base, httpx2.Client() as client:
        large = {"image": ("a.png", bytes(3 * 1024 * 1024), "image/png")}
        check_error(client.post(f"{base}/api/identify", files=large), 413)
        assert client.get(f"{base}/healthz").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "", "[::1", "10.0.0.1"]
)
def test_foreign_host_names_are_refused(client, host):
    check_error(client.get("/api/guide", headers={"Host": host}), 421)
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:9"])
def test_loopback_names_are_answered(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_hosts_follow_where_the_server_listens(guide):
    assert hosts_for("127.0.0.1") == LOOPBACK
    anywhere = connect(guide, allowed_hosts=hosts_for("0.0.0.0", ["guide.example"]))
    for host, status in (("192.168.1.7", 200), ("guide.example", 200), ("evil.example", 421)):
        assert anywhere.get("/", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://[", "http://127.0.0.2"])
@pytest.mark.parametrize("address", ["/api/identify", "/api/identify.html", "/identify.html"])
def test_other_sites_may_not_ask(client, address, origin):
    files = {"image": ("a.png", png(), "image/png")}
    check_error(client.post(address, files=files, headers={"Origin": origin}), 403)
    own = client.post(address, files=files, headers={"Origin": BASE})
    assert own.status_code == 200


def test_failures_inside_are_logged_and_never_shown(make_stand_in, caplog):
    guide = make_stand_in([("k", (), (32, 24), "a.jpg")])
    guide.identify = lambda images: 1 / 0
    client = connect(guide)
    with caplog.at_level(logging.ERROR, logger="fieldguide.site"):
        check_error(client.post("/api/identify", files={"image": png()}), 500)
    assert "ZeroDivisionError" in caplog.text
    guide.neighbours = lambda ids, n: 1 / 0
    response = client.get("/specimen/0.html")
    assert response.status_code == 500
    assert "division" not in response.text
    assert client.get("/index.html").status_code == 200


def test_a_guide_whose_files_are_gone_says_so(guide, tmp_path, caplog):
    """What is in memory is answered; the rest is one sentence, and no failure of ours."""
    folder = Path(shutil.copytree(guide.folder, tmp_path / "guide"))
    client = connect(Guide.open(folder))
    shutil.rmtree(folder)
    with caplog.at_level(logging.ERROR, logger="fieldguide.site"):
        answer = client.post("/api/identify", files={"image": png()})
    check_error(answer, 503)
    assert "the server's log says why" in answer.text
    assert str(folder) not in answer.text
    assert str(folder) in caplog.text
    assert client.get("/index.html").status_code == 200


def test_pages_are_served_while_pictures_are_identified(make_stand_in):
    guide = make_stand_in([("k", (), (32, 24), f"{i}.jpg") for i in range(9)])
    at_once, most = 0, 0
    lock, go_on, ready = threading.Lock(), threading.Event(), guide.identify

    def identify(images):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        assert go_on.wait(10)
        time.sleep(0.02)
        with lock:
            at_once -= 1
        return ready(images)

    guide.identify = identify
    with live(guide) as base, ThreadPoolExecutor(6) as pool:
        asked = [
            pool.submit(httpx2.post, f"{base}/api/identify", files={"image": png()})
            for _ in range(6)
        ]
        time.sleep(0.2)
        assert httpx2.get(f"{base}/").status_code == 200  # though every turn is taken
        assert not any(future.done() for future in asked)
        go_on.set()
        assert [future.result().status_code for future in asked] == [200] * 6
    assert most == 2


def test_a_long_queue_is_turned_away(make_stand_in, monkeypatch):
    monkeypatch.setattr(server, "_WAITING", 0)
    monkeypatch.setattr(server, "_AT_ONCE", 1)
    guide = make_stand_in([("k", (), (32, 24), "a.jpg")])
    begun, go_on, ready = threading.Event(), threading.Event(), guide.identify

    def identify(images):
        begun.set()
        go_on.wait(5)
        return ready(images)

    guide.identify = identify
    with live(guide) as base, ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpx2.post, f"{base}/api/identify", files={"image": png()})
        begun.wait(5)
        check_error(httpx2.post(f"{base}/api/identify", files={"image": png()}), 503)
        form = {"files": {"image": png()}, "headers": {"Accept": "text/html"}}
        page = httpx2.post(f"{base}/identify.html", **form)
        assert page.status_code == 503
        assert page.headers["retry-after"] == "1"
        assert '<p class="error">The guide is busy; try again in 1 second.</p>' in page.text
        go_on.set()
        assert first.result().status_code == 200


def test_a_client_that_hangs_up_is_no_failure(base, caplog):
    host, port = base.removeprefix("http://").split(":")
    head = (
        f"POST /api/identify HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5000\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with caplog.at_level(logging.WARNING):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(head.encode())
            time.sleep(0.1)
        time.sleep(0.1)
        assert httpx2.get(f"{base}/healthz").status_code == 200
    assert caplog.text == ""


def test_summary_of_the_guide(guide, client):
    summary = client.get("/api/guide").json()
    assert list(summary) == [
        *("title", "summary", "specimens", "kinds", "branches", "accuracy", "kinds_from"),
        *("agreement", "created", "seed"),
    ]
    assert summary["specimens"] == guide.n_specimens
    assert summary["kinds"] == [kind.name for kind in guide.kinds]
    assert summary["accuracy"] == guide.about["accuracy"]
    assert str(guide.folder) not in client.get("/api/guide").text


def test_a_busy_port_is_one_sentence():
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(FieldguideError, match=rf"Port {port} on 127.0.0.1 cannot be used"):
            listen("127.0.0.1", port)
    with pytest.raises(FieldguideError, match="cannot be used"):
        listen("127.0.0.1", 99999)


def test_the_next_free_port_is_taken_when_none_is_asked_for():
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        assert FIRST_PORT <= first.getsockname()[1] < second.getsockname()[1]


def test_serve_announces_its_address(guide, monkeypatch):
    servers, announced = [], []
    start = uvicorn.Server.run
    ready = threading.Event()

    def run(self, sockets):
        servers.append(self)
        ready.set()
        start(self, sockets)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    thread = threading.Thread(
        target=serve, args=(guide,), kwargs={"port": 0, "announce": announced.append}
    )
    thread.start()
    assert ready.wait(5)
    assert httpx2.get(announced[0]).status_code == 200
    servers[0].should_exit = True
    thread.join(5)
    assert not thread.is_alive()


class live:
    """A real server on a real socket, for the length of a block."""

    def __init__(self, guide, **settings):
        self.listening = listen("127.0.0.1", 0)
        self.server = uvicorn.Server(configure(create_app(guide, **settings)))
        self.thread = threading.Thread(target=self.server.run, args=([self.listening],))

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def __exit__(self, *error):
        self.server.should_exit = True
        self.thread.join(10)
        self.listening.close()


def raw_get(base, target):
    """Send a request line as it stands: clients tidy dots and slashes away."""
    host, port = base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_identify_tells_the_way_through_the_key(keyed_guide, client):
    i = keyed_guide.kinds[2].exemplars[0]
    data = (keyed_guide.folder / keyed_guide.specimen(i).picture).read_bytes()
    said = keyed_guide.identify([data])[0].path
    with connect(keyed_guide) as keyed:
        told = keyed.post("/api/identify", files={"image": data}).json()["path"]
        html = keyed.post("/api/identify.html", files={"image": data}).text
        assert keyed.get("/key.html").status_code == 200
    assert told["end"] == list(said.end)
    for step, expected in zip(told["steps"], said.steps, strict=True):
        couplet = keyed_guide.couplets[expected.couplet - 1]
        assert step["couplet"] == expected.couplet
        assert step["side"] == ("plus" if expected.margin > 0 else "minus")
        assert (step["minus"], step["plus"]) == (list(couplet.minus), list(couplet.plus))
    assert html.count('class="way-side taken"') == len(said.steps)
    assert html.count("close call") == sum(s.probability < 0.75 for s in said.steps)
    assert client.post("/api/identify", files={"image": png()}).json()["path"] is None
    assert client.get("/key.html", headers={"Accept": "text/html"}).status_code == 404
