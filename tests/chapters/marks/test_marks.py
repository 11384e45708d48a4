"""Field marks of kinds: what is found, what is kept, what is said of a new picture."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file
from skimage.draw import polygon2mask
from tests.features.test_deep import make_network
from tests.guide.killed_build import check_killed_build

from fieldguide.chapters.marks.chapter import MOST_EACH, SAMPLE, draw_sample
from fieldguide.chapters.marks.heat import PAPER, draw_heat, outline_heat
from fieldguide.chapters.marks.windows import (
    MEASURED,
    WINDOWS,
    find_seen_box,
    fit_window_votes,
    list_window_marks,
)
from fieldguide.chapters.marks.words import (
    choose_words,
    count_words,
    cut_patches,
    find_words,
    spread_heat,
)
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.features import BagOfWords
from fieldguide.features.bag_of_words import FoundWords
from fieldguide.features.network import SIX, Network
from fieldguide.features.pool_maps import fit_maps
from fieldguide.features.vocabulary import class_names
from fieldguide.guide import Guide
from fieldguide.select import ConcertClassifier


def copy_guide(guide, target):
    shutil.copytree(guide.folder, target)
    return Guide.open(target)


def read_sample(guide):
    """Return the outputs in all windows of the sample, its kinds and its specimens."""
    arrays = load_file(guide.edition / "models/marks.safetensors")
    ids = arrays["sample"]
    logits = np.load(guide.edition / "features/logits.npy")[ids]
    kinds = [guide.specimen(int(i)).kind for i in ids]
    return np.hstack([logits, arrays["outputs"]]), np.array(kinds), ids


def test_window_marks_are_the_heaviest_of_a_concert_fitted_by_hand(small_guide):
    outputs, kinds, _ = read_sample(small_guide)
    F = fit_maps(outputs).apply(outputs)
    concert = ConcertClassifier(k=8, p1=2.0, refit=None).fit(F, kinds)
    names = [(word, window) for window in SIX for word in class_names()]
    for row, kind in enumerate(concert.classes_):
        weights, flips = concert.weights_[row], concert.flips_[row]
        totals: dict = {}
        for j in np.flatnonzero(weights):
            word, window = names[j]
            totals.setdefault((word, bool(flips[j])), {})[window] = weights[j]
        marks = small_guide.marks(kind).windows
        assert 1 <= len(marks) <= 8
        for mark in marks:
            assert dict(mark.windows) == pytest.approx(totals[mark.word, mark.lacks])
            columns = [names.index((mark.word, window)) for window, _ in mark.windows]
            vote = F[:, columns] @ np.array([w for _, w in mark.windows]) / mark.weight
            vote = 1 - vote if mark.lacks else vote
            assert mark.typical == pytest.approx(vote[kinds == kind].mean(), abs=1e-6)
            assert mark.elsewhere == pytest.approx(vote[kinds != kind].mean(), abs=1e-6)
            assert mark.typical >= mark.elsewhere
        kept = sorted((sum(windows.values()) for windows in totals.values()), reverse=True)
        assert [mark.weight for mark in marks] == pytest.approx(kept[: len(marks)])


def test_the_strongest_specimens_come_first_with_their_best_window(small_guide):
    outputs, kinds, ids = read_sample(small_guide)
    F = fit_maps(outputs).apply(outputs).reshape(len(ids), 6, 1000)
    for kind in ("disc", "square", "stripe"):
        for mark in small_guide.marks(kind).windows:
            value = F[:, :, class_names().index(mark.word)]
            value = 1 - value if mark.lacks else value
            of = [WINDOWS.index(window) for window, _ in mark.windows]
            vote = {int(i): row[of] @ [w for _, w in mark.windows]
                    for i, row, k in zip(ids, value, kinds, strict=True) if k == kind}  # fmt: skip
            shown = [i for i, _ in mark.specimens]
            rest = [vote[i] for i in vote if i not in shown]
            assert [vote[i] for i in shown] == sorted((vote[i] for i in shown), reverse=True)
            assert min(vote[i] for i in shown) >= max(rest, default=0) - 1e-6
            for i, window in mark.specimens:
                row = value[ids.tolist().index(i)]
                assert row[WINDOWS.index(window)] == row[of].max()


def test_outputs_in_windows_are_those_of_the_guides_pictures(small_guide):
    arrays = load_file(small_guide.edition / "models/marks.safetensors")
    network = Network()
    specimen = small_guide.specimen(int(arrays["sample"][5]))
    image = Image.open(small_guide.folder / specimen.picture).convert("RGB")
    for w, window in enumerate(MEASURED):
        logits = network.run(network.crop(image, SIX[window])[None]).logits[0]
        np.testing.assert_allclose(
            arrays["outputs"][5, w * 1000 : (w + 1) * 1000], logits, atol=1e-3
        )


def test_the_sentence_merges_windows_and_says_what_is_lacking(small_guide):
    marks = small_guide.marks("stripe")
    has = [mark.word for mark in marks.windows if not mark.lacks]
    assert marks.sentence.startswith(", ".join(dict.fromkeys(has)))
    assert ("; not " in marks.sentence) == any(mark.lacks for mark in marks.windows)


def test_of_two_kinds_what_speaks_for_one_speaks_against_the_other():
    rng = np.random.default_rng(3)
    index = np.arange(12) % 2
    outputs = rng.normal(size=(12, 6000)) + 0.5 * index[:, None] * rng.normal(size=6000)
    votes = fit_window_votes(outputs, index, "network", 1)
    first, second = list_window_marks(votes, outputs, index, np.arange(12))
    assert [(m.word, m.weight, not m.lacks) for m in first] == [
        (m.word, m.weight, m.lacks) for m in second
    ]


@pytest.mark.parametrize("window", SIX)
@pytest.mark.parametrize("size", [(320, 200), (150, 333)])
def test_the_seen_box_is_what_the_network_gets(window, size):
    x, y = np.meshgrid(np.linspace(0, 255, size[0]), np.linspace(0, 255, size[1]))
    image = Image.fromarray(np.stack([x, y, 0 * x], axis=-1).astype(np.uint8))
    crop = Network().crop(image, SIX[window]).astype(float) / 255
    x0, y0, x1, y1 = find_seen_box(window, *size)
    middle = crop[crop.shape[0] // 2, crop.shape[1] // 2]
    assert middle[:2] == pytest.approx(((x0 + x1) / 2, (y0 + y1) / 2), abs=0.02)
    assert crop[:, :, 0].min() == pytest.approx(x0, abs=0.02)
    assert crop[:, :, 0].max() == pytest.approx(x1, abs=0.02)
    assert crop[:, :, 1].max() == pytest.approx(y1, abs=0.02)
    assert (x1 - x0) * size[0] == pytest.approx((y1 - y0) * size[1])


def test_words_are_counted_as_the_bag_counts_them(blobs):
    images = [Image.fromarray(image) for image in blobs[0][:6]]
    bag = BagOfWords(30, pyramid=((1, 1),), n_jobs=1).fit(images)
    found = find_words(bag, images, 1)
    counted = np.stack([count_words(f, bag.n_words) for f in found])
    np.testing.assert_allclose(counted, bag.transform(images)[:, :-1], atol=1e-6)
    parallel = find_words(bag, images, 2)
    assert all(np.array_equal(a.share, b.share) for a, b in zip(found, parallel, strict=True))


def draw_found(rng, n=200, n_words=9):
    share = rng.dirichlet([1, 1], size=n)
    word = rng.integers(0, n_words, (n, 2))
    return FoundWords(word, share, rng.random(n), rng.random(n), np.full(n, 0.2))


def test_heat_is_a_naive_count(seed):
    rng = np.random.default_rng(seed)
    found, heat = draw_found(rng), rng.random(8)
    naive = np.zeros((5, 5))
    for words, shares, x, y, _ in zip(*found, strict=True):
        for word, share in zip(words, shares, strict=True):
            if word < 8:  # the ninth is of windows without contrast
                naive[int(5 * y), int(5 * x)] += share * heat[word] / len(found.x)
    np.testing.assert_allclose(spread_heat(found, heat, 5), naive, rtol=1e-9)


def test_planted_words_are_found_and_few_are_enough(seed):
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(3), 10)
    rows = rng.gamma(1.0, size=(30, 40))
    rows[index == 0, 7] += 12
    rows[index == 1, 11] += 12
    rows[index == 2, 19] = 0.0
    rows[index != 2, 19] += 12
    rows = (rows / rows.sum(axis=1, keepdims=True)).astype(np.float32)
    chosen = choose_words(rows, index, 3, 1)
    for kind, (word, lacks) in enumerate(((7, False), (11, False), (19, True))):
        own = chosen[kind]
        assert own.weights.argmax() == word
        assert own.lacks[word] == lacks
        assert own.weights.sum() == pytest.approx(1, abs=1e-3)
        assert own.enough == np.count_nonzero(own.weights) == min(
            n for n, score in own.path if score >= max(s for _, s in own.path) - 0.01
        )  # fmt: skip
        assert own.path[-1][1] > 0.9
        assert (own.heat[own.lacks] == 0).all()
        mean = rows[index == kind].mean(axis=0)
        spread = (own.heat * mean)[~own.lacks].sum()
        assert spread == pytest.approx(own.weights[~own.lacks].sum(), abs=1e-5)
    again = choose_words(rows, index, 3, 2)
    assert all(np.array_equal(a.heat, b.heat) for a, b in zip(chosen, again, strict=True))


def test_kinds_of_one_specimen_have_words_without_a_score(seed):
    rows = np.random.default_rng(seed).dirichlet(np.ones(12), size=4).astype(np.float32)
    chosen = choose_words(rows, np.array([0, 1, 2, 2]), 3, 1)
    assert [own.enough for own in chosen[:2]] == [None, None]
    assert [own.path for own in chosen[:2]] == [(), ()]
    assert choose_words(np.ones((4, 5), np.float32), np.array([0, 0, 1, 1]), 2, 1) is None


def test_patches_are_cut_where_the_word_is():
    image = Image.new("RGB", (100, 50))
    image.paste((200, 10, 10), (60, 10, 80, 30))
    found = FoundWords(
        np.array([[3], [4]]), np.ones((2, 1)), np.array([0.2, 0.7]), np.array([0.5, 0.4]),
        np.array([0.2, 0.2]),
    )  # fmt: skip
    patches = cut_patches([image, image], [found, found._replace(word=found.word * 0)], 4)
    assert patches.shape == (1, 72, 72, 3)  # the second picture does not have the word
    inner = patches[0, 12:-12, 12:-12]
    np.testing.assert_array_equal(inner, np.broadcast_to((200, 10, 10), inner.shape))


def test_the_outline_holds_a_tenth_of_the_picture():
    y, x = np.mgrid[:60, :90]
    field = np.exp(-((x - 50) ** 2 + (y - 25) ** 2) / 300.0)
    (line,) = outline_heat(field)
    inside = polygon2mask(field.shape, line[:, ::-1])
    assert inside.mean() == pytest.approx(0.1, abs=0.01)
    assert field[inside].min() >= np.quantile(field, 0.88)
    assert outline_heat(np.zeros((20, 20))) == []


def test_a_picture_fades_where_there_is_no_heat():
    image = Image.new("RGB", (200, 100), (20, 90, 40))
    heat = np.zeros((16, 16))
    heat[:, 2:5] = 1.0
    drawn = np.asarray(draw_heat(image, heat)).astype(float)
    assert drawn.shape == (144, 288, 3)
    to_paper = np.abs(drawn - PAPER).sum(axis=2)
    assert to_paper[70, 60] > 2 * to_paper[70, 220]
    blank = np.asarray(draw_heat(image, np.zeros((16, 16)))).astype(int)
    assert np.ptp(blank.reshape(-1, 3), axis=0).max() <= 1


def test_the_sample_is_the_most_typical_of_each_kind(small_guide):
    for kind in small_guide.kinds:
        arrays = load_file(small_guide.edition / "models/marks.safetensors")
        own = [int(i) for i in arrays["sample"] if small_guide.specimen(int(i)).kind == kind.name]
        assert tuple(own) == kind.exemplars[: len(own)]
        assert [shown.specimen for shown in small_guide.marks(kind.name).heat] == own[:3]


@pytest.mark.parametrize(("n_kinds", "n_each"), [(2, 30), (40, 30), (300, 5), (1, 9)])
def test_the_sample_stays_small(n_kinds, n_each):
    kinds = [f"kind {k}" for k in range(n_kinds) for _ in range(n_each)] + [None] * 7
    X = np.random.default_rng(0).normal(size=(len(kinds), 4)).astype(np.float32)
    names, index, ids = draw_sample(kinds, X)
    assert [kinds[i] for i in ids] == [names[k] for k in index]
    counts = np.bincount(index)
    assert 2 <= counts.min() <= counts.max() <= MOST_EACH
    assert len(ids) <= max(SAMPLE, len(kinds) / 12, 2 * n_kinds)


def test_a_second_build_runs_the_network_on_no_window(blobs, tmp_path, monkeypatch):
    images, kinds = [blobs[0][i] for i in range(0, 24, 2)], blobs[1][::2]
    collection = Collection.from_arrays(images, kinds)
    first = Guide.build(collection, tmp_path / "guide", features="deep", n_jobs=1)
    marks = first.marks("disc")
    runs = []
    run = Network.run
    monkeypatch.setattr(
        Network, "run", lambda self, p, **how: runs.append(len(p)) or run(self, p, **how)
    )
    again = Guide.build(collection, tmp_path / "guide", features="deep", n_jobs=1)
    assert runs == []
    assert again.marks("disc") == marks
    changed = [*images[:-1], 255 - images[-1]]
    Guide.build(Collection.from_arrays(changed, kinds), tmp_path / "guide", features="deep")
    assert runs.count(len(MEASURED)) == 1


def test_a_killed_build_looks_at_no_window_twice(blobs, tmp_path):
    root = tmp_path / "images"
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        (root / kind).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / kind / f"{i:02d}.png")
    whole = Guide.build(root, tmp_path / "whole", n_jobs=1)
    step = "looking for marks"
    check_killed_build(root, whole, tmp_path / "guide", step, 7, step)


def test_a_network_without_words_leaves_the_patterns(blobs, tmp_path):
    network = make_network(tmp_path / "small.onnx")
    collection = Collection.from_arrays(blobs[0][::2], blobs[1][::2])
    guide = Guide.build(collection, tmp_path / "guide", embedder=network, features="deep", n_jobs=1)
    marks = guide.marks("disc")
    assert marks.windows == ()
    assert marks.words
    assert marks.heat
    seen = guide.find_marks(blobs[0][1], "disc")
    assert seen.windows == ()
    assert seen.heat.shape == (16, 16)


def test_plain_pictures_have_no_words(tmp_path):
    greys = [np.full((48, 48, 3), v, dtype=np.uint8) for v in (10, 20, 30, 220, 230, 240)]
    guide = Guide.build(Collection.from_arrays(greys, list("dddlll")), tmp_path / "guide", n_jobs=1)
    assert guide.marks("d").words == () == guide.marks("d").heat
    assert guide.marks("d").windows


def test_the_words_of_a_guide_with_visual_words_are_used(worded_guide):
    arrays = load_file(worded_guide.edition / "models/marks.safetensors")
    assert not any(name.startswith("bag") for name in arrays)
    assert worded_guide.marks("disc").n_words == arrays["heat"].shape[1]
    assert worded_guide.find_marks(worded_guide.folder / worded_guide.specimen(0).picture,
                                   "disc").heat.any()  # fmt: skip


def test_a_picture_of_the_sample_votes_as_it_did(small_guide):
    outputs, kinds, ids = read_sample(small_guide)
    row = int(np.flatnonzero(kinds == "square")[0])
    specimen = small_guide.specimen(int(ids[row]))
    seen = small_guide.find_marks(small_guide.folder / specimen.picture, "square")
    F = fit_maps(outputs).apply(outputs)[row].reshape(6, 1000)
    assert [shown.mark for shown in seen.windows] == list(small_guide.marks("square").windows)
    for mark, vote, is_shown, box in seen.windows:
        value = F[:, class_names().index(mark.word)]
        by_hand = sum(w * value[WINDOWS.index(name)] for name, w in mark.windows) / mark.weight
        # The whole picture was measured from the file, the windows from the guide's JPEG copy.
        assert vote == pytest.approx(1 - by_hand if mark.lacks else by_hand, abs=0.06)
        assert is_shown == (vote >= (mark.typical + mark.elsewhere) / 2)
        assert box == find_seen_box(mark.windows[0][0], specimen.width, specimen.height)
    assert sum(shown.is_shown for shown in seen.windows) > len(seen.windows) / 2


def test_each_window_of_a_new_picture_is_looked_at_once(small_guide, blobs, monkeypatch):
    looked, crop = [], Network.crop

    def watch(network, image, box=SIX["whole"]):
        looked.append(box)
        return crop(network, image, box)

    monkeypatch.setattr(Network, "crop", watch)
    sighting = small_guide.look(blobs[0][1])
    small_guide.identify([sighting])
    for kind in ("disc", "square", "stripe"):
        small_guide.find_marks(sighting, kind)
    assert 1 < len(looked) == len(set(looked)) <= len(SIX)


def test_kinds_are_found_by_how_a_person_writes_them(small_guide):
    assert small_guide.marks(" Disc ").kind == "disc"
    with pytest.raises(GuideError, match=r"No kind of this guide is called 'squire'. There is 'sq"):
        small_guide.marks("squire")


def test_a_guide_without_marks_opens(small_guide, tmp_path):
    old = copy_guide(small_guide, tmp_path / "old")
    for path in (old.edition / "models").glob("marks.*"):
        path.unlink()
    assert old.marks("disc") is None
    assert old.find_marks(np.zeros((20, 20, 3), np.uint8), "disc") is None


def spoil(*keys, value):
    def change(settings):
        place = settings
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        spoil("kinds", value=None),
        spoil("kinds", 0, "windows", 0, "word", value="<script>"),
        spoil("kinds", 0, "windows", 0, "windows", value=[["attic", 0.5]]),
        spoil("kinds", 0, "windows", 0, "specimens", value=[[24, "whole"]]),
        spoil("kinds", 0, "windows", 0, "weight", value="much"),
        spoil("kinds", 0, "heat", 0, "picture", value="pictures/../../secret.jpg"),
        spoil("kinds", 0, "heat", 0, "specimen", value=-1),
        spoil("kinds", 0, "words", 0, "picture", value="pictures/marks/0.png"),
        spoil("kinds", 0, "path", value=[3]),
        spoil("bag", value={"parameters": {}}),
        spoil("pool", value={"parameters": {}}),
        spoil("pool", "model", "parameters", "kind", value="windows"),
    ],
)
def test_damaged_marks_are_one_sentence(small_guide, tmp_path, change):
    spoilt = copy_guide(small_guide, tmp_path / "spoilt")
    path = spoilt.edition / "models/marks.json"
    settings = json.loads(path.read_text())
    change(settings)
    path.write_text(json.dumps(settings))
    with pytest.raises(GuideError, match=r"^The marks .* cannot be read .*; build the guide again"):
        spoilt.marks("disc")


def test_a_cut_off_file_of_marks_is_one_sentence(small_guide, tmp_path):
    spoilt = copy_guide(small_guide, tmp_path / "spoilt")
    path = spoilt.edition / "models/marks.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(GuideError, match=r"The marks .* cannot be read"):
        spoilt.marks("disc")


def test_a_guide_without_marks(blobs, tmp_path):
    kinds = ["a", "b"] * 4
    guide = Guide.build(
        Collection.from_arrays(blobs[0][:8], kinds), tmp_path / "guide", marks=False, n_jobs=1
    )
    assert guide.marks("a") is None
    assert guide.find_marks(blobs[0][0], "a") is None
    assert guide.identify([blobs[0][0]])[0].parts == {}
    assert not guide.all_located()
    with pytest.raises(GuideError, match="does not know where its answers come from"):
        guide.locate([blobs[0][0]])
    assert guide.about["settings"]["marks"] is False


def test_an_answer_has_the_marks_that_find_marks_finds(small_guide, blobs):
    answer = small_guide.identify([blobs[0][1]])[0]
    marks = answer.parts["marks"]
    seen = small_guide.find_marks(blobs[0][1], "disc")
    assert [(m.word, m.vote, m.box) for m in marks.windows] == [
        (s.mark.word, s.vote, s.box) for s in seen.windows
    ]
    np.testing.assert_array_equal(marks.heat, seen.heat)
    assert "heat" not in answer.to_plain()["marks"]
