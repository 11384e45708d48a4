"""A real browser, pages to open in it, and what the identify page must show."""

import shutil
import threading

import pytest
import uvicorn
from PIL import Image

from fieldguide.site import create_app, export_site
from fieldguide.site.listening import listen
from fieldguide.site.server import configure

CHROMIUM = next(
    (found for name in ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
     if (found := shutil.which(name))),
    None,
)  # fmt: skip
NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium at /usr/bin/chromium or on PATH"),
]


def in_browser(test):
    """Mark a single test as one that needs a browser."""
    for mark in NEEDS_BROWSER:
        test = mark(test)
    return test


@pytest.fixture(scope="session")
def browser():
    """One for all tests of a worker; from then on its thread has a loop of asyncio."""
    playwright = pytest.importorskip("playwright.sync_api").sync_playwright().start()
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
    )
    yield browser
    browser.close()
    playwright.stop()


@pytest.fixture
def open_page(browser):
    """Open pages whose console must be clean and whose requests must stay here."""
    contexts, complaints = [], []

    def open_page(address, **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda r: complaints.append(r.url) if _broke(r) else None)
        page.on("request", lambda r: complaints.append(r.url) if _leaves(r.url) else None)
        # Listened to from the start: begun with the key press, it may come after the chooser.
        page.on("filechooser", lambda chooser: None)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == [], complaints


def _broke(request):
    return "ERR_ABORTED" not in request.failure  # aborted: the page was left before it was loaded


def _leaves(url):
    return not url.startswith(("file://", "http://127.0.0.1:", "blob:", "data:"))


@pytest.fixture(scope="module")
def site(guide, tmp_path_factory):
    """An exported guide, by its file address."""
    folder = tmp_path_factory.mktemp("export") / "a site # 100%"
    return export_site(guide, folder).parent.as_uri()


def serve_guide(guide, **settings):
    """Yield the address of a guide, served by a thread."""
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(configure(create_app(guide, **settings)))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture(scope="module")
def live(guide):
    yield from serve_guide(guide)


@pytest.fixture(scope="module")
def live_keyed(keyed_guide):
    yield from serve_guide(keyed_guide)


@pytest.fixture(scope="module")
def find(guide, tmp_path_factory):
    """A picture to identify: a specimen of the first kind."""
    path = tmp_path_factory.mktemp("find") / "find.png"
    i = guide.kinds[0].exemplars[0]
    Image.open(guide.folder / guide.specimen(i).picture).save(path)
    return path


def check_answer(page, guide):
    """Check what the identify page says of the picture ``find``."""
    name = guide.kinds[0].name
    reply = page.locator("#reply")
    heading = reply.get_by_role("heading", level=2)
    heading.wait_for()
    assert heading.inner_text().lower() == name.lower()
    assert "%" in reply.locator(".lede").inner_text()
    assert reply.locator(".candidates li").count() >= 2
    assert reply.get_by_role("navigation", name="Where this sits in the tree").is_visible()
    assert reply.locator(".grid img").count() >= 8
    shown = page.get_by_alt_text("The picture you chose")
    assert shown.is_visible()
    assert shown.evaluate("image => image.naturalWidth") > 0


def check_width(page, width=390):
    """Check that a page does not scroll sideways."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url
