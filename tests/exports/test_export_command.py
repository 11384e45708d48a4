"""``fieldguide export --format``: where it may write, and what it says."""

import hashlib
import json
import re

import pytest

from fieldguide.errors import FieldguideError
from fieldguide.exports import FORMATS
from fieldguide.exports.specimen_rows import SpecimenRow
from fieldguide.site.chapter_pages import list_sheets
from tests.cli.commands import call, check_refusal


def test_the_pages_are_the_default(small_guide, tmp_path):
    told = call("export", small_guide.folder, tmp_path / "site")
    assert told.exit_code == 0, told.stderr
    assert (tmp_path / "site" / "index.html").exists()


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.suffix])
def test_a_file_is_replaced_only_when_asked(flat_guide, tmp_path, name):
    target = tmp_path / f"own{FORMATS[name].suffix}"
    target.write_text("mine")
    arguments = ["export", str(flat_guide.folder), str(target), "--format", name]
    check_refusal(arguments, "is there already; add --overwrite")
    assert target.read_text() == "mine"
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    told = call(*arguments, "--overwrite")
    assert told.exit_code == 0, told.stderr
    assert f"Open {target}" in told.stdout
    assert target.read_bytes() != b"mine"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_what_cannot_be_written_is_one_sentence(small_guide, tmp_path):
    guide = str(small_guide.folder)
    check_refusal(["export", guide, str(tmp_path), "--format", "csv"], "is a folder")
    check_refusal(["export", guide, str(tmp_path / "a" / "b"), "--format", "csv"], "no folder")
    inside = str(small_guide.folder / "table.csv")
    check_refusal(["export", guide, inside, "--format", "csv"], "the guide's own folder")
    check_refusal(["export", guide, str(tmp_path / "x"), "--format", "exe"], "must be one of site,")


def test_a_folder_of_another_format_is_not_written_over(small_guide, tmp_path):
    target = str(tmp_path / "out")
    assert call("export", small_guide.folder, target, "--format", "imagefolder").exit_code == 0
    check_refusal(["export", str(small_guide.folder), target], "not an earlier export")
    assert not (tmp_path / "out" / "index.html").exists()


def test_every_format_is_named_in_the_help():
    shown = " ".join(call("export", "--help").stdout.replace("│", " ").split())
    assert [name for name in FORMATS if f"'{name}'" not in shown] == []


def test_the_metadata_says_what_the_files_are(small_guide, export):
    folder = export(small_guide, "croissant")
    said = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    table, pictures = said["distribution"]
    content = (folder / table["contentUrl"]).read_bytes()
    assert table["sha256"] == hashlib.sha256(content).hexdigest()
    assert len(list(folder.glob(pictures["includes"]))) == small_guide.n_specimens
    columns = [field["source"]["extract"]["column"] for field in said["recordSet"][0]["field"]]
    assert columns == ["file_name", *SpecimenRow._fields]
    assert {*json.loads(content.splitlines()[0])} == {*columns}
    types = {field["name"]: field["dataType"] for field in said["recordSet"][0]["field"]}
    assert types["date"] == "sc:DateTime"


@pytest.mark.filterwarnings("ignore")  # of its own packages
def test_it_is_read_by_mlcroissant(small_guide, export):
    mlcroissant = pytest.importorskip(
        "mlcroissant", reason="mlcroissant is not installed: it is heavy"
    )
    folder = export(small_guide, "croissant")
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    records = list(dataset.records("specimens"))
    assert [record["specimens/path"].decode() for record in records] == [
        specimen.path for specimen in small_guide.specimens(range(small_guide.n_specimens))
    ]


def count_pages(browser, address):
    page = browser.new_page()
    page.goto(address)
    data = page.pdf(format="A4")
    page.close()
    return len(re.findall(rb"/Type\s*/Page\b", data))


def test_a_book_stands_alone(guide, export):
    text = export(guide, "book").read_text(encoding="utf-8")
    plates = re.findall(r'id="plate-(\d+)"', text)
    assert plates == [str(number) for number in range(1, len(guide.kinds) + 1)]
    for kind in guide.kinds:
        assert f"</span> {kind.shown}</h2>" in text
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert "<script" not in text
    linked = {number for number in re.findall(r'href="#plate-(\d+)"', text)}
    assert linked <= {*plates}
    index = text.split('<ul class="book-index">')[1]
    assert all(kind.shown in index for kind in guide.kinds)
    assert ("book-key" in text.split("</style>")[-1]) == ("printed-key" in list_sheets(guide))


def test_names_in_a_book_are_escaped(hostile_guide, export):
    text = export(hostile_guide, "book").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<i>Hostile" not in text


def test_a_book_needs_kinds(plain_guide, export):
    with pytest.raises(FieldguideError, match="has no kinds"):
        export(plain_guide, "book")


@pytest.mark.browser
def test_a_plate_is_a_page(guide, export, browser):
    path = export(guide, "book")
    n_pages = count_pages(browser, path.as_uri())
    # A cover, at most four pages of key, and two of index.
    assert len(guide.kinds) + 2 <= n_pages <= len(guide.kinds) + 7


@pytest.mark.browser
def test_the_page_of_a_kind_prints_on_two_sheets(guide, browser, tmp_path):
    first = guide.export_site(tmp_path / "site")
    slugs = [kind.slug for kind in guide.kinds[:4]]
    pages = [count_pages(browser, (first.parent / f"kind/{s}.html").as_uri()) for s in slugs]
    assert max(pages) <= 2
