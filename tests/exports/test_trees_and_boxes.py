"""Trees and boxes, read by the programs that they are for."""

import contextlib
import io

import pytest

from fieldguide.datasets import read_coco_boxes


def read_tree(path, schema):
    dendropy = pytest.importorskip("dendropy", reason="DendroPy is not installed")
    return dendropy.Tree.get(
        path=str(path), schema=schema, suppress_internal_node_taxa=True, preserve_underscores=True
    )


@pytest.mark.parametrize("schema", ["newick", "nexus"])
@pytest.mark.parametrize("name", ["guide", "hostile_guide", "plain_guide", "bare_guide"])
def test_the_tree_is_read_by_dendropy(request, export, schema, name):
    guide = request.getfixturevalue(name)
    tree = read_tree(export(guide, schema), schema)
    tips = {leaf.taxon.label: leaf for leaf in tree.leaf_node_iter()}
    assert len(tips) == guide.n_specimens
    for specimen in guide.specimens(range(guide.n_specimens)):
        above = tips[" ".join(specimen.path.split())].parent_node
        branch = guide.branches[specimen.branch]
        while branch is not None:
            said = ", ".join(branch.words) or guide.title
            assert above.label == " ".join(said.split())
            above = above.parent_node
            branch = None if branch.parent is None else guide.branches[branch.parent]
        assert above is None


def test_nexus_lists_its_taxa(guide, export):
    dendropy = pytest.importorskip("dendropy", reason="DendroPy is not installed")
    data = dendropy.DataSet.get(path=str(export(guide, "nexus")), schema="nexus")
    (taxa,) = data.taxon_namespaces
    assert len(taxa) == guide.n_specimens
    assert data.tree_lists[0][0].is_rooted


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # its own
def test_coco_is_read_by_pycocotools(guide, export):
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    path = export(guide, "coco")
    with contextlib.redirect_stdout(io.StringIO()):
        read = coco.COCO(str(path))
    assert len(read.imgs) == guide.n_specimens
    names = {each["id"]: each for each in read.loadCats(read.getCatIds())}
    n_places = 0
    for specimen in guide.specimens(range(guide.n_specimens)):
        (image,) = read.loadImgs([specimen.id + 1])
        assert image["file_name"] == specimen.path
        own = read.loadAnns(read.getAnnIds([image["id"]]))
        subjects = [a for a in own if names[a["category_id"]]["supercategory"] == "subject"]
        (subject,) = subjects
        assert names[subject["category_id"]]["name"] == specimen.kind
        x0, y0, x1, y1 = guide.subject(specimen.id).box
        w, h = specimen.width, specimen.height
        assert subject["bbox"] == pytest.approx(
            [x0 * w, y0 * h, (x1 - x0) * w, (y1 - y0) * h], abs=0.02
        )
        mask = read.annToMask(subject)
        assert mask.shape == (h, w)
        assert mask.sum() == pytest.approx(subject["area"], rel=0.1)
        located = guide.located(specimen.id)
        places = [a for a in own if a not in subjects]
        assert len(places) == (0 if located is None else len(located.places))
        n_places += len(places)
        for annotation in places:
            assert read.annToMask(annotation).sum() > 0
    assert n_places > 0


def test_coco_is_read_by_our_own_reader(guide, export):
    objects, names = read_coco_boxes(export(guide, "coco"))
    assert len(objects) == guide.n_specimens
    assert {kind.name for kind in guide.kinds} <= {*names}
