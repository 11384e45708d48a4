"""The pages in a real browser: from a file address, live, by keyboard, small, dark, scripts off."""

import io

import pytest
from PIL import Image
from tests.site.browsing import NEEDS_BROWSER, check_answer, serve_guide

from fieldguide.site import export_site
from fieldguide.site.addresses import AddressBook
from fieldguide.site.plots import plot_key

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def live_plain(plain_guide):
    yield from serve_guide(plain_guide)


@pytest.fixture(scope="module")
def keyed_site(keyed_guide, tmp_path_factory):
    return export_site(keyed_guide, tmp_path_factory.mktemp("keyed") / "site").parent.as_uri()


@pytest.fixture(scope="module")
def live_hostile(hostile_guide):
    yield from serve_guide(hostile_guide)


def test_an_export_opens_from_a_file_address(open_page, site, guide):
    page = open_page(f"{site}/index.html")
    assert page.get_by_role("heading", level=1).inner_text() == guide.summary
    assert page.locator(".frontispiece img").first.evaluate("image => image.naturalWidth") > 0
    page.locator(".tree .phrase a").first.click()
    page.get_by_role("navigation", name="Where this sits in the tree").wait_for()
    page.locator(".plate a").first.click()
    page.get_by_role("heading", name="Most like it").wait_for()
    page.get_by_role("link", name="Kinds").click()
    page.locator(".plates a").first.click()
    page.get_by_role("heading", name="What sets it apart").wait_for()
    page.get_by_role("link", name="About", exact=True).click()
    page.get_by_role("heading", name="How right it is").wait_for()
    page.get_by_role("link", name="Identify").click()
    assert page.get_by_text("fieldguide serve").is_visible()
    for address in ("branch/0-2.html", "404.html", "search.html"):
        page.goto(f"{site}/{address}")
        assert page.get_by_role("main").is_visible()


def test_search_narrows_the_index(open_page, site, guide):
    page = open_page(f"{site}/specimen/0.html")
    name = guide.kinds[0].name
    page.get_by_role("searchbox").fill(name[:6].upper())
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Index").wait_for()
    assert "q=" in page.url
    shown = page.locator(".entry:visible")
    assert 0 < shown.count() < len(guide.kinds) + len(guide.words)
    assert page.get_by_role("link", name=name, exact=True).first.is_visible()
    assert "for “" in page.get_by_role("status").inner_text()
    page.get_by_role("searchbox").fill("no such thing")
    assert shown.count() == 0
    assert page.get_by_text("Nothing in the guide is called that").is_visible()
    page.get_by_role("searchbox").fill("")
    assert shown.count() == len(guide.kinds) + len(guide.words)


def test_search_reads_plurals_slips_and_commas(open_page, site, guide):
    page = open_page(f"{site}/search.html")
    first = max(guide.words, key=lambda each: each[1])[0]
    kind = max(guide.kinds, key=lambda kind: len(kind.name)).name
    shown = page.locator(".entry:visible")
    box = page.get_by_role("searchbox")
    box.fill(f"{kind[:-3]}{kind[-2]}{kind[-3]}{kind[-1]}")  # two letters swapped
    assert shown.all_inner_texts()[0].startswith(kind)
    box.fill(f"{kind}s")
    assert shown.all_inner_texts()[0].startswith(kind)
    box.fill(f"{kind}, {first}")
    names = shown.evaluate_all("entries => entries.map(e => e.dataset.name)")
    assert {kind, first} <= set(names)
    page.get_by_role("link", name=first, exact=True).first.click()
    assert page.get_by_role("heading", level=1).inner_text().lower() == first.lower()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_one_goes_from_word_to_word(open_page, live, guide, scripts):
    """From the box to specimens, to fewer with a word added, to more with one taken away."""
    word, n, _ = max(guide.words, key=lambda each: each[1])
    page = open_page(f"{live}/index.html", java_script_enabled=scripts)
    page.get_by_role("searchbox").fill(f"{word}s")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    assert page.get_by_role("status").inner_text() == f"{n} specimens."
    assert page.get_by_text(f"{word}s → {word}").is_visible()
    pictures = page.locator("#specimens .grid img")
    assert pictures.count() == min(n, 60)
    assert pictures.first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    page.get_by_role("navigation", name="Pages of specimens").get_by_text("2").click()
    page.wait_for_url("**page=2*")
    assert pictures.count() == min(n - 60, 60)
    choice = page.get_by_role("complementary").locator("li").first
    remain = int(choice.locator(".count").inner_text())
    assert 0 < remain < n
    added = choice.get_by_role("link").inner_text()
    choice.get_by_role("link").click()
    page.get_by_role("heading", level=1, name=added).wait_for()
    assert page.get_by_role("status").inner_text().startswith(f"{remain} specimen")
    assert added in page.get_by_role("searchbox").input_value()
    page.get_by_role("link", name=f"without {word}s").click()
    page.get_by_role("heading", level=1, name=added, exact=True).wait_for()
    page.get_by_role("list", name="Terms").get_by_role("link", name=added).click()
    assert page.get_by_role("heading", level=1).inner_text().lower() == added.lower()
    page.locator("#specimens .grid a").first.click()
    page.get_by_role("heading", name="What it shows").wait_for()


def test_a_query_that_nothing_fits_says_what_would(open_page, live, guide):
    words = [word for word, n, _ in guide.words if n]
    alone = next(w for w in words if any(not guide.find(f'word:"{w}", word:"{v}"').total
                                         for v in words))  # fmt: skip
    other = next(v for v in words if not guide.find(f'word:"{alone}", word:"{v}"').total)
    page = open_page(f"{live}/search.html?q=word:%22{alone}%22, word:%22{other}%22, zzqq")
    assert page.get_by_text("No specimen fits them all.").is_visible()
    assert page.get_by_text("no word, kind or file is like “zzqq”").is_visible()
    page.get_by_role("link", name="without zzqq").click()
    page.get_by_role("link", name=f"Without {other}", exact=True).click()
    n = guide.find(f'word:"{alone}"').total
    assert page.get_by_role("status").inner_text().startswith(f"{n} specimen")


def test_identify_by_file_chooser(open_page, live, guide, find):
    page = open_page(f"{live}/identify.html")
    assert page.get_by_text("Waiting for a picture").is_visible()
    with page.expect_file_chooser() as chooser:
        page.get_by_text("Choose files").click()
    chooser.value.set_files(find)
    check_answer(page, guide)
    assert page.evaluate("document.activeElement.className") == "answer-title"
    assert page.locator("#reply").get_attribute("aria-busy") == "false"
    page.locator("#reply .candidates a").first.click()
    page.get_by_role("heading", name="Look-alikes", exact=True).wait_for()


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_identify_by_drop_and_paste(open_page, live, guide, find, how):
    page = open_page(f"{live}/identify.html")
    script = """([how, bytes]) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], "find.png", { type: "image/png" }));
        const settings = { bubbles: true, cancelable: true };
        const event = how === "drop"
            ? new DragEvent("drop", { dataTransfer: data, ...settings })
            : new ClipboardEvent("paste", { clipboardData: data, ...settings });
        document.getElementById("drop").dispatchEvent(event);
    }"""
    page.evaluate(script, [how, list(find.read_bytes())])
    check_answer(page, guide)


@pytest.mark.parametrize("scripted", [True, False])
def test_identify_several_pictures(open_page, live, guide, find, tmp_path, scripted):
    page = open_page(f"{live}/identify.html", java_script_enabled=scripted)
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG and no more")
    page.set_input_files("#image", [find, broken, find])
    if not scripted:
        page.get_by_role("button", name="Identify").click()
    page.get_by_role("heading", name="3 pictures").wait_for()
    assert page.locator("#reply").get_attribute("aria-busy") == "false"
    assert page.locator("#shown img").count() == 0
    items = page.locator("#reply .entries > li")
    assert items.count() == 3
    best = guide.identify([find])[0].kinds[0]
    for i in (0, 2):
        assert items.nth(i).get_by_role("link").inner_text() == guide.shown_name(best.name)
        assert items.nth(i).get_by_text(find.name).is_visible()
        assert items.nth(i).locator("img").evaluate("image => image.naturalWidth") > 10
    assert items.nth(1).locator(".error").inner_text().startswith("That picture cannot be read")
    items.nth(0).get_by_role("link").click()
    page.get_by_role("heading", name="Look-alikes", exact=True).wait_for()


def test_identify_without_kinds(open_page, live_plain, find):
    page = open_page(f"{live_plain}/identify.html")
    page.set_input_files("#image", find)
    heading = page.locator("#reply").get_by_role("heading", level=2)
    heading.wait_for()
    assert heading.inner_text() == "Animal › winged"


def test_identify_without_scripts(open_page, live, guide, find):
    page = open_page(f"{live}/identify.html", java_script_enabled=False)
    assert not page.get_by_text("Drop pictures here").is_visible()
    page.get_by_role("button", name="Identify").click()  # nothing is sent: no file is chosen
    page.set_input_files("#image", find)
    page.get_by_role("button", name="Identify").click()
    page.wait_for_url("**/identify.html#answer")
    check_answer(page, guide)
    page.locator("#reply .candidates a").first.click()
    page.get_by_role("heading", name="Look-alikes", exact=True).wait_for()


def test_a_refusal_without_scripts_is_one_sentence(browser, live, guide, find):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{live}/identify.html")
    broken = {"name": "a.png", "mimeType": "image/png", "buffer": b"not a picture"}
    page.set_input_files("#image", broken)
    page.get_by_role("button", name="Identify").click()
    assert page.locator("#reply").inner_text().startswith("That picture cannot be read: ")
    page.set_input_files("#image", find)  # and another may be sent at once
    page.get_by_role("button", name="Identify").click()
    check_answer(page, guide)
    page.context.close()


def test_a_form_of_another_site_is_refused(browser, live, tmp_path):
    """The browser says where a form comes from, and the server listens."""
    other = tmp_path / "other.html"
    other.write_text(
        f'<form action="{live}/identify.html" method="post" enctype="multipart/form-data">'
        '<input type="file" name="image"><button>Send</button></form>'
    )
    page = browser.new_page()
    page.goto(other.as_uri())
    page.set_input_files("input", {"name": "a.png", "mimeType": "image/png", "buffer": b"x"})
    page.get_by_role("button", name="Send").click()
    page.get_by_text("Only the guide's own pages may ask this.").wait_for()
    page.close()


def test_identify_says_what_is_wrong(open_page, live, tmp_path):
    page = open_page(f"{live}/identify.html")
    text = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"words"}
    page.set_input_files("#image", text)
    page.get_by_text("That is not a picture").wait_for()
    with open(tmp_path / "large.png", "wb") as large:
        large.truncate(33 * 1024 * 1024)
    page.set_input_files("#image", tmp_path / "large.png")
    page.get_by_text("larger than 32 MB").wait_for()


def test_identify_shows_the_refusal_of_the_server(browser, live):
    page = browser.new_page()
    page.goto(f"{live}/identify.html")
    broken = {"name": "a.png", "mimeType": "image/png", "buffer": b"not a picture"}
    page.set_input_files("#image", broken)
    page.get_by_text("That picture cannot be read").wait_for()
    assert page.locator("#reply").get_attribute("aria-busy") == "false"
    page.route("**/api/identify.html", lambda route: route.abort())
    stripes = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stripes, "PNG")
    good = {"name": "a.png", "mimeType": "image/png", "buffer": stripes.getvalue()}
    page.set_input_files("#image", good)
    page.get_by_text("The guide does not answer").wait_for()
    page.close()


def test_everything_works_from_the_keyboard(open_page, live, guide):
    page = open_page(f"{live}/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    for _ in range(12):
        if page.evaluate("document.activeElement.matches('.phrase a')"):
            break
        page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="specimen").first.wait_for()
    assert "/branch/" in page.url
    page.goto(f"{live}/identify.html")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "image":
            break
    assert page.evaluate("document.activeElement.id") == "image"
    with page.expect_file_chooser():
        page.keyboard.press("Space")


def test_folds_open_from_the_keyboard(open_page, make_stand_in, tmp_path):
    places = [
        (None, (f"word {i % 60}", f"part {i % 120}"), (32, 24), f"{i}.jpg") for i in range(240)
    ]
    index = export_site(make_stand_in(places, draw=None), tmp_path / "site")
    page = open_page(index.as_uri())
    shut = page.locator("details:not([open])").count()
    assert shut == 60
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details:not([open])").count() == shut - 1
    page.get_by_role("button", name="Open every branch").click()
    assert page.locator("details:not([open])").count() == 0
    page.get_by_role("button", name="Shut every branch").click()
    assert page.locator("details[open]").count() == 0


def test_pages_read_with_scripts_off(open_page, site, guide):
    page = open_page(f"{site}/index.html", java_script_enabled=False)
    page.locator(".tree .phrase a").first.click()
    page.locator("#specimens .grid a").first.click()
    assert page.get_by_role("heading", level=1).is_visible()
    page.get_by_role("searchbox").fill("zzz")
    page.get_by_role("button", name="Search").click()
    assert page.locator(".entry").count() == len(guide.kinds) + len(guide.words)
    assert page.locator(".entry").first.is_visible()


ADDRESSES = ("index", "branch/1", "kinds", "specimen/5", "search", "identify", "about", "404")


@pytest.mark.parametrize("width", [360, 640])  # 640: a window of 1280 at 200 %
def test_nothing_overflows_a_narrow_screen(open_page, site, guide, width):
    page = open_page(f"{site}/index.html", viewport={"width": width, "height": 740})
    word = AddressBook(guide).word(guide.words[0][0]).removesuffix(".html")
    for address in (*ADDRESSES, f"kind/{guide.kinds[0].slug}", word):
        page.goto(f"{site}/{address}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_hostile_names_stay_text_and_fit(open_page, hostile_guide, tmp_path):
    index = export_site(hostile_guide, tmp_path / "site")
    page = open_page(index.as_uri(), viewport={"width": 360, "height": 740})
    shown = ("kind/*", "pair/*", "compare.html")
    for path in sorted(path for form in shown for path in index.parent.glob(form)):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("main script").count() == 0
    page.goto(f"{index.parent.as_uri()}/search.html")
    page.get_by_role("link", name="<script>alert(1)</script>", exact=True).first.click()
    assert page.get_by_role("heading", level=1).inner_text() == "<script>alert(1)</script>"


@pytest.mark.parametrize("query", ["dup", "<script>alert(1)</script>", "x" * 300, "robin -many"])
def test_hostile_queries_stay_text_and_fit(open_page, live_hostile, query):
    page = open_page(f"{live_hostile}/index.html", viewport={"width": 360, "height": 740})
    page.get_by_role("searchbox").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=*")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("main script").count() == 0
    assert page.get_by_role("searchbox").input_value() == query


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [390, 1200])
def test_two_kinds_are_chosen_and_compared(open_page, live_hostile, scripts, width):
    page = open_page(
        f"{live_hostile}/kinds.html",
        java_script_enabled=scripts,
        viewport={"width": width, "height": 740},
    )
    page.get_by_role("link", name="Compare two of them").click()
    page.get_by_label("First kind").select_option(label="<script>alert(1)</script>")
    page.get_by_label("Second kind").select_option(label="robin-2")
    page.get_by_role("button", name="Compare").click()
    heading = page.get_by_role("heading", level=1)
    assert heading.inner_text() == "<script>alert(1)</script> or robin-2?"
    assert page.get_by_text("Held out, the key").is_visible()
    assert page.locator(".sides img").count() > 2
    assert page.locator(".sides img").first.evaluate("image => image.naturalWidth") > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("main script").count() == 0
    page.get_by_label("First kind").select_option(label="robin-2")
    page.get_by_role("button", name="Compare").click()
    assert "is one kind; give two" in page.get_by_role("status").inner_text()
    page.go_back()
    page.locator(".sides h2 a").last.click()
    assert heading.inner_text().lower() == "robin-2"
    page.get_by_role("link", name="compare", exact=False).first.click()
    assert heading.inner_text().endswith("?")


def test_dark_and_light_are_both_readable(open_page, site):
    for scheme in ("light", "dark"):
        page = open_page(f"{site}/about.html", color_scheme=scheme)
        background, ink, soft = page.evaluate(
            """() => [getComputedStyle(document.body).backgroundColor,
                      getComputedStyle(document.body).color,
                      getComputedStyle(document.querySelector(".note, .lede")).color]"""
        )
        assert (luminance(background) < 0.2) == (scheme == "dark")
        assert contrast(background, ink) > 10
        assert contrast(background, soft) > 4.5


def luminance(colour):
    channels = [int(part) / 255 for part in colour.strip("rgb()").split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_pictures_load_only_when_they_are_near(open_page, make_stand_in, tmp_path):
    places = [("k", ("word",), (300, 200), f"{i}.jpg") for i in range(60)]
    site = export_site(make_stand_in(places), tmp_path / "site").parent
    page = open_page(f"{site.as_uri()}/branch/0.html", viewport={"width": 360, "height": 600})
    listed = page.locator("#specimens img")
    assert listed.count() == 60
    assert listed.last.evaluate("image => image.complete") is False


@pytest.mark.parametrize("width", [390, 1280])
def test_pictures_of_a_plate_stand_on_one_line(open_page, make_stand_in, tmp_path, width):
    words = ("red", "a much longer word that takes a caption of three lines or more")
    places = [("k", (words[i % 2],), (300, 200 + 40 * i), f"{i}.jpg") for i in range(7)]
    site = export_site(make_stand_in(places), tmp_path / "site").parent
    page = open_page(f"{site.as_uri()}/kind/k.html", viewport={"width": width, "height": 900})
    ends = page.locator(".plate-small img").evaluate_all(
        "images => images.map(image => Math.round(image.getBoundingClientRect().bottom))"
    )
    assert len(ends) == 6
    assert len(set(ends)) == 2
    assert page.locator(".plate figcaption").first.is_visible()


# -- the key ------------------------------------------------------------------------------


def test_a_couplet_without_words_prints_two_sides_of_one_width(open_page, keyed_site):
    page = open_page(f"{keyed_site}/key.html", viewport={"width": 703, "height": 1032})
    page.emulate_media(media="print")
    first = page.locator(".couplet").first
    first.locator(".couplet-head").evaluate(
        "head => head.insertAdjacentHTML('afterend', '<p class=\\'couplet-note\\'>No words</p>')"
    )
    minus, plus = (side.bounding_box() for side in first.locator(".couplet-side").all())
    assert minus["y"] == plus["y"]
    assert abs(minus["width"] - plus["width"]) < 1


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_key_opens_from_a_file_address(open_page, keyed_site, keyed_guide, scripts):
    page = open_page(f"{keyed_site}/index.html", java_script_enabled=scripts)
    page.get_by_role("link", name="Key", exact=True).click()
    assert page.get_by_role("heading", level=1).inner_text() == "Key"
    drawing = page.get_by_role("group", name="The key as a tree of pictures")
    assert drawing.is_visible()
    couplets = page.locator(".couplet")
    assert couplets.count() == len(keyed_guide.couplets)
    first = keyed_guide.couplets[0]
    page.locator("#couplet-1").get_by_role("link", name=f"→ {first.to_plus}").click()
    assert page.url.endswith(f"#couplet-{first.to_plus}")
    assert page.locator(f"#couplet-{first.to_plus}").is_visible()


def test_the_pictures_of_the_key_load(open_page, live_keyed, keyed_guide):
    page = open_page(f"{live_keyed}/key.html")
    page.wait_for_load_state("networkidle")
    loaded = page.evaluate(
        """async () => {
             const sources = [...document.querySelectorAll("svg image")].map(i => i.href.baseVal);
             const sizes = await Promise.all(sources.map(async source => {
               const image = new Image(); image.src = source; await image.decode();
               return image.naturalWidth; }));
             return sizes; }"""
    )
    assert len(loaded) >= len(keyed_guide.kinds)
    assert min(loaded) > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768])
def test_the_key_scrolls_in_its_own_box(open_page, keyed_site, width, scheme):
    page = open_page(
        f"{keyed_site}/key.html", viewport={"width": width, "height": 740}, color_scheme=scheme
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ink, paper = page.evaluate(
        """() => [getComputedStyle(document.querySelector(".key-name")).fill,
                  getComputedStyle(document.body).backgroundColor]"""
    )
    assert contrast(ink, paper) > 7
    box = page.get_by_role("region", name="Drawing of the key")
    inner, outer = box.evaluate("box => [box.scrollWidth, box.clientWidth]")
    if width == 360:
        assert inner > outer
        box.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.wait_for_function("document.querySelector('.key-box').scrollLeft > 0")


def test_identify_shows_the_way_through_the_key(open_page, live_keyed, keyed_guide, tmp_path):
    i = keyed_guide.kinds[0].exemplars[0]
    path = keyed_guide.folder / keyed_guide.specimen(i).picture
    said = keyed_guide.identify([path])[0].path
    page = open_page(f"{live_keyed}/identify.html")
    page.set_input_files("#image", path)
    steps = page.locator(".way > li")
    steps.first.wait_for()
    assert steps.count() == len(said.steps)
    for k, step in enumerate(said.steps):
        shown = steps.nth(k)
        assert shown.locator(".way-number").inner_text() == str(step.couplet)
        taken = shown.locator(".way-side.taken")
        assert taken.count() == 1
        assert "taken" in taken.inner_text()
        assert taken.inner_text().startswith("+" if step.margin > 0 else "−")
        assert shown.locator(".way-side img").count() >= 2
        assert (shown.get_by_text("close call").count() == 1) == (step.probability < 0.75)
        assert shown.get_by_role("img", name="margin").count() == 1
        assert f"{abs(step.margin):.2f}" in shown.locator(".way-margin").inner_text()
        assert "%" in shown.locator(".way-verdict").inner_text()
    told = page.locator(".way-end").inner_text()
    assert f"took {said.evaluations} evaluation" in told
    assert f"one-vs-all would take {said.one_vs_all}" in told
    steps.first.locator(".way-number a").click()
    assert page.url.endswith("key.html#couplet-1")


def test_a_way_of_hostile_names_marks_close_calls_and_fits(open_page, live_hostile, find):
    page = open_page(f"{live_hostile}/identify.html", viewport={"width": 360, "height": 740})
    page.set_input_files("#image", find)
    steps = page.locator(".way > li")
    steps.first.wait_for()
    assert steps.count() == 7
    assert page.get_by_text("close call", exact=True).count() == 6
    assert steps.first.get_by_text("close call").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.goto(f"{live_hostile}/key.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("main script").count() == 0


def test_a_plot_opens_by_itself(open_page, keyed_guide, tmp_path):
    path = tmp_path / "key.svg"
    path.write_text(plot_key(keyed_guide).text, encoding="utf-8")
    page = open_page(path.as_uri())
    assert page.locator("use").count() >= len(keyed_guide.kinds)
    drawn = page.evaluate(
        "[...document.querySelectorAll('use')].map(u => u.getBoundingClientRect().width)"
    )
    assert min(drawn) > 10
    # No line of names runs out of its card.
    overrun = page.evaluate(
        """[...document.querySelectorAll(".key-name")].map(t =>
             t.getBBox().width).filter(width => width > 190).length"""
    )
    assert overrun == 0
