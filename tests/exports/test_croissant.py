"""Croissant metadata, read by mlcroissant where it is installed."""

import hashlib
import json

import pytest

from fieldguide.exports.specimen_rows import SpecimenRow


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
