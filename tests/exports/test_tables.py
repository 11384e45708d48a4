"""Tables of specimens and kinds, read by the programs that they are for."""

import csv
import json
import sys
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from fieldguide._csv import restore_cell
from fieldguide.errors import FieldguideError
from fieldguide.exports import camtrap_dp, darwin_core
from fieldguide.exports.sdd import NAMESPACE
from fieldguide.exports.specimen_rows import SpecimenRow


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_says_what_the_guide_says(guide, export):
    rows = read_csv(export(guide, "csv"))
    assert tuple(rows[0]) == SpecimenRow._fields
    assert len(rows) == guide.n_specimens
    for row, specimen in zip(rows, guide.specimens(range(guide.n_specimens)), strict=True):
        assert (row["path"], row["kind"]) == (specimen.path, specimen.kind)
        assert row["branch_words"] == guide.sentence(specimen.branch)
        assert row["words"].split("; ") == [word for word, _ in guide.words_of(specimen.id)]
        assert float(row["confidence"]) == pytest.approx(specimen.confidence, abs=1e-4)
        box = [float(row[f"subject_{side}"]) for side in ("x0", "y0", "x1", "y1")]
        assert tuple(box) == guide.subject(specimen.id).box


def test_no_name_is_run_by_a_spreadsheet(make_stand_in, export):
    names = ["=1+1", "+cmd", "-2", "@sum", "plain"]
    places = [(name, (f"={name}",), (40, 30), f"{name}/{i}.jpg") for i, name in enumerate(names)]
    odd = make_stand_in(places)
    for form in ("csv", "characters", "lucid"):
        path = export(odd, form)
        with open(path, encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        texts = [cell for cell in cells if not cell.replace(".", "").isdigit()]
        assert not [cell for cell in texts if cell[:1] in tuple("=+-@")]
        assert {*names} <= {restore_cell(cell) for cell in texts}


def test_parquet_is_read_by_pyarrow(guide, export):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = parquet.read_table(export(guide, "parquet"))
    assert table.column_names == list(SpecimenRow._fields)
    assert str(table.schema.field("words").type) == "list<element: string>"
    assert str(table.schema.field("confidence").type) == "double"
    rows = read_csv(export(guide, "csv"))
    for row, typed in zip(rows, table.to_pylist(), strict=True):
        assert "; ".join(typed["words"]) == row["words"]
        assert (typed["path"], typed["kind"]) == (row["path"], row["kind"])
        assert typed["subject_confidence"] == float(row["subject_confidence"])


def test_parquet_without_pyarrow_is_one_sentence(guide, export, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FieldguideError, match=r"pip install 'fieldguide\[parquet\]'"):
        export(guide, "parquet")


def test_the_imagefolder_is_whole(guide, export):
    folder = export(guide, "imagefolder")
    lines = [json.loads(line) for line in (folder / "metadata.jsonl").read_text().splitlines()]
    assert [line["path"] for line in lines] == [
        specimen.path for specimen in guide.specimens(range(guide.n_specimens))
    ]
    # What Hugging Face asks of it: a file_name, relative to the metadata, for each picture.
    assert {line["file_name"] for line in lines} == {
        path.relative_to(folder).as_posix() for path in (folder / "images").iterdir()
    }
    for line in lines[:3]:
        with Image.open(folder / line["file_name"]) as image:
            assert image.size == (line["width"], line["height"])
    again = export(guide, "imagefolder")  # brought up to date
    assert len(list((again / "images").iterdir())) == guide.n_specimens


def test_the_imagefolder_is_read_by_datasets(small_guide, export, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: it is heavy")
    folder = export(small_guide, "imagefolder")
    read = datasets.load_dataset(
        "imagefolder", data_dir=str(folder), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert read["kind"][:] == [
        specimen.kind for specimen in small_guide.specimens(range(small_guide.n_specimens))
    ]
    assert np.asarray(read[0]["image"]).shape == (72, 72, 3)


def test_originals_are_copied_where_they_are_given(small_guide, blobs, export, tmp_path):
    for specimen, image in zip(small_guide.specimens(range(24)), range(24), strict=True):
        place = tmp_path / "photos" / specimen.path
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(blobs[0][image]).save(place)
    folder = export(small_guide, "imagefolder", images=tmp_path / "photos")
    first = small_guide.specimen(0).path
    copied = folder / "images" / "000000.png"
    assert copied.read_bytes() == (tmp_path / "photos" / first).read_bytes()
    (tmp_path / "photos" / first).unlink()
    with pytest.raises(FieldguideError, match=f"There is no '{first}'"):
        export(small_guide, "imagefolder", images=tmp_path / "photos")


def test_characters_count_the_specimens(guide, export):
    rows = read_csv(export(guide, "characters"))
    assert [row["kind"] for row in rows] == [kind.name for kind in guide.kinds]
    words = [name for name in rows[0] if name not in ("kind", "specimens")]
    for row in rows[:3]:
        own = guide.members(kind=row["kind"])
        assert int(row["specimens"]) == len(own)
        shown = [{word for word, _ in guide.words_of(i)} for i in own]
        for word in words:
            share = sum(word in each for each in shown) / len(own)
            assert float(row[word]) == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize("name", ["characters", "lucid", "sdd"])
def test_characters_need_kinds(plain_guide, export, name):
    with pytest.raises(FieldguideError, match="has no kinds"):
        export(plain_guide, name)


def read_shares(path):
    return {
        (row["kind"], word): float(share)
        for row in read_csv(path)
        for word, share in row.items()
        if word not in ("kind", "specimens")
    }


def score_share(share):
    return 0 if share == 0 else 1 if share > 0.25 else 2


def test_lucid_scores_each_state_of_each_kind(guide, export):
    shares = read_shares(export(guide, "characters"))
    rows = read_csv(export(guide, "lucid"))
    scored = {
        (kind, row[""].partition(":")[2]): int(score)
        for row in rows
        for kind, score in row.items()
        if kind
    }
    assert all(row[""].count(":") == 1 for row in rows)
    assert scored == {
        (guide.shown_name(kind), word): score_share(share) for (kind, word), share in shares.items()
    }
    assert set(scored.values()) == {0, 1, 2}


def test_sdd_lists_the_states_of_each_kind(make_stand_in, export):
    places = [("a<b", ("x", "red & wet"), (40, 30), f"{i}.jpg") for i in range(5)]
    places += [("a<b", ("x", "odd\x01: one"), (40, 30), "5.jpg"), ("c", ("x",), (40, 30), "6.jpg")]
    root = ElementTree.parse(export(make_stand_in(places), "sdd")).getroot()
    space = {"s": NAMESPACE}

    def name_all(path):
        return {
            node.get("id"): node.findtext("s:Representation/s:Label", namespaces=space)
            for node in root.iterfind(path, space)
        }

    kinds, words = name_all(".//s:TaxonNames/s:TaxonName"), name_all(".//s:StateDefinition")
    assert set(kinds.values()) == {"a<b", "c"}
    assert set(words.values()) == {"x", "red & wet", "odd\ufffd: one"}
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    assert {node.get("ref") for node in root.iter() if node.get("ref")} <= set(ids)
    told = {}
    for description in root.iterfind(".//s:CodedDescription", space):
        kind = kinds[description.find("s:Scope/s:TaxonName", space).get("ref")]
        for state in description.iterfind(".//s:State", space):
            told[kind, words[state.get("ref")]] = "rare" if len(state) else "common"
    assert told == {
        ("a<b", "x"): "common",
        ("a<b", "red & wet"): "common",
        ("a<b", "odd\ufffd: one"): "rare",
        ("c", "x"): "common",
    }


def test_darwin_core_has_terms_of_the_standard(guide, export):
    # Of the list at rs.tdwg.org/dwc/terms, those that we use.
    terms = {
        *("occurrenceID", "basisOfRecord", "datasetName", "verbatimIdentification"),
        *("identifiedBy", "identificationRemarks", "associatedMedia", "occurrenceRemarks"),
        *("dynamicProperties", "eventDate", "decimalLatitude", "decimalLongitude"),
        *("geodeticDatum",),
    }
    assert {*darwin_core.COLUMNS} <= terms
    rows = read_csv(export(guide, "darwin-core"))
    assert len({row["occurrenceID"] for row in rows}) == guide.n_specimens
    for row, specimen in zip(rows, guide.specimens(range(guide.n_specimens)), strict=True):
        assert row["verbatimIdentification"] == specimen.kind
        said = json.loads(row["dynamicProperties"])
        assert said["classifiedAs"] == specimen.answer
        assert said["classifiedBy"].startswith("Fieldguide ")
        assert said["classificationProbability"] == pytest.approx(specimen.confidence, abs=1e-4)


def test_dates_and_places_are_told(make_stand_in, export):
    odd = make_stand_in([("robin", ("bird",), (40, 30), f"robin/{i}.jpg") for i in range(2)])
    odd._specimens[0] = replace(
        odd._specimens[0],
        date="2021-05-03T14:07:09",
        latitude=52.5,
        longitude=-1.25,
        caption="On the fence.",
        owner_words=("fence", "spring"),
    )
    first, second = read_csv(export(odd, "csv"))
    told = (first["date"], first["latitude"], first["longitude"], first["owner_words"])
    assert told == ("2021-05-03T14:07:09", "52.5", "-1.25", "fence; spring")
    assert {second[n] for n in ("date", "latitude", "longitude", "caption")} == {""}
    first, second = read_csv(export(odd, "darwin-core"))
    assert (first["eventDate"], first["decimalLongitude"]) == ("2021-05-03T14:07:09", "-1.25")
    assert (first["geodeticDatum"], second["geodeticDatum"]) == ("WGS84", "")
    assert first["occurrenceRemarks"] == "On the fence."
    first, *_ = read_csv(export(odd, "camtrap-dp"))
    assert first["eventStart"] == first["eventEnd"] == "2021-05-03T14:07:09"


def test_camtrap_dp_has_what_its_table_asks_for(guide, export):
    rows = read_csv(export(guide, "camtrap-dp"))
    assert tuple(rows[0]) == camtrap_dp.COLUMNS
    answers = {s.path: s.answer for s in guide.specimens(range(guide.n_specimens))}
    assert len({row["observationID"] for row in rows}) == len(rows) == 2 * guide.n_specimens
    for row in rows:
        assert row["observationLevel"] == "media"
        assert row["observationType"] in ("animal", "unclassified")
        assert row["deploymentID"]
        sides = [float(row[f"bbox{part}"]) for part in ("X", "Y", "Width", "Height")]
        assert min(sides) >= 0
        assert sides[0] + sides[2] <= 1.0001
        assert sides[1] + sides[3] <= 1.0001
        if row["classificationMethod"] == "machine":
            assert 0 <= float(row["classificationProbability"]) <= 1
            assert row["classifiedBy"].startswith("Fieldguide ")
            assert row["scientificName"] == answers[row["mediaID"]]
        else:
            assert row["classificationMethod"] == "human"
            assert row["scientificName"] == row["mediaID"].split("/")[0]
