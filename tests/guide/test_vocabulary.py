"""A guide told in any list of words: by two towers of random weights, against NumPy."""

import shutil

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file
from tests.cli.commands import call, check_refusal
from tests.features import exported

from fieldguide.collection import Collection
from fieldguide.errors import EmbedderError, GuideError
from fieldguide.features import Network, TextVocabulary
from fieldguide.features.text_vocabulary import score_text
from fieldguide.guide import Guide

QUICK = {"features": "deep", "key": "ova", "marks": False, "places": False, "n_jobs": 1}


@pytest.fixture(scope="module")
def photos():
    rng, colours = np.random.default_rng(0), ((220, 40, 30), (30, 60, 210), (240, 230, 40))
    return [
        np.clip(colour + rng.normal(0, 15, (48, 48, 3)), 0, 255).astype(np.uint8)
        for colour in colours
        for _ in range(12)
    ]


@pytest.fixture(scope="module")
def tower(tmp_path_factory):
    return exported.save_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def words(tower, photos, tmp_path_factory):
    """Three words, each of which fits the pictures of one colour best."""
    rows = Network(tower).see([Image.fromarray(photo) for photo in photos]).embedding
    means = rows.reshape(3, 12, -1).mean(axis=1)
    means -= means.mean(axis=0)
    path = tmp_path_factory.mktemp("words") / "farben.safetensors"
    TextVocabulary.make(["rötlich", "青い", "jaunâtre"], means, logit_scale=400.0).save(path)
    return path


@pytest.fixture(scope="module")
def guide(photos, tower, words, tmp_path_factory):
    collection = Collection.from_arrays(photos, list(12 * "a" + 12 * "b" + 12 * "c"))
    out = tmp_path_factory.mktemp("guide")
    return Guide.build(collection, out, embedder=tower, vocabulary=words, **QUICK)


def test_specimens_are_told_in_the_words_of_the_list(guide):
    found = {w: n for w, n, _ in guide.words if guide.sources[w] == "vocabulary"}
    assert found == dict.fromkeys(("rötlich", "青い", "jaunâtre"), 12)
    assert guide.find("青い").total == 12
    assert sorted(guide.members(word="青い").tolist()) == list(range(12, 24))


def test_scores_are_those_of_numpy(guide, words):
    X = np.load(guide.edition / "features" / "embedding.npy").astype(float)
    T = load_file(words)["text"].astype(float)
    logits = 400 * (X / np.linalg.norm(X, axis=1)[:, None]) @ T.T
    p = np.exp(logits - logits.max(axis=1)[:, None])
    p /= p.sum(axis=1)[:, None]
    cosine = (X @ X.T) / np.outer(*[np.linalg.norm(X, axis=1)] * 2)
    np.fill_diagonal(cosine, -2)
    near = np.argsort(-cosine, axis=1, kind="stable")[:, :10]
    kind = np.repeat([0, 1, 2], 12)
    for i in range(len(X)):
        others = np.flatnonzero((kind == kind[i]) & (np.arange(len(X)) != i))
        mean = (p[i] + p[near[i]].sum(axis=0) + 10 * p[others].mean(axis=0)) / 21
        expected = score_text(mean)
        j = int(kind[i])
        word = ("rötlich", "青い", "jaunâtre")[j]
        assert dict(guide.words_of(i))[word] == pytest.approx(expected[j], abs=1e-3)


def test_a_new_picture_is_told_in_them_too(guide, photos, tower):
    opened = Guide.open(guide.folder)
    opened.use_embedder(tower)
    said = [word.word for word in opened.identify([photos[17]])[0].words]
    assert "青い" in said
    assert "rötlich" not in said


def test_pictures_that_are_added_are_told_in_them_too(guide, photos, tower, tmp_path):
    shutil.copytree(guide.folder, tmp_path / "guide")
    (tmp_path / "b").mkdir()
    rng = np.random.default_rng(5)
    for i in range(2):
        noisy = np.clip(photos[14 + i] + rng.normal(0, 9, photos[0].shape), 0, 255)
        Image.fromarray(noisy.astype(np.uint8)).save(tmp_path / "b" / f"new{i}.png")
    opened = Guide.open(tmp_path / "guide")
    opened.use_embedder(tower)
    larger = opened.add(tmp_path / "b", n_jobs=1)
    assert larger.find("青い").total == 14


def test_what_does_not_fit_is_said_in_one_sentence(photos, tower, words, tmp_path):
    collection = Collection.from_arrays(photos[:6])
    with pytest.raises(EmbedderError, match="have 8 numbers each and the pictures 1,280"):
        Guide.build(collection, tmp_path / "a", vocabulary=words, **QUICK)
    with pytest.raises(EmbedderError, match="cannot be read"):
        Guide.build(collection, tmp_path / "b", embedder=tower, vocabulary="no.txt", **QUICK)


def test_a_damaged_vocabulary_of_a_guide_is_refused(guide, photos, tower, tmp_path):
    shutil.copytree(guide.folder, tmp_path / "guide")
    (file,) = (tmp_path / "guide" / "editions").glob("*/models/vocabulary.safetensors")
    save_file({"text": np.zeros((3, 8), np.float32)}, file)
    opened = Guide.open(tmp_path / "guide")
    opened.use_embedder(tower)
    with pytest.raises(GuideError, match=r"vocabulary.* cannot be read"):
        opened.identify([photos[0]])


def test_the_commands_make_a_vocabulary_and_a_guide_of_it(photos, tower, tmp_path):
    pytest.importorskip("tokenizers")
    text = exported.save_text_tower(tmp_path)
    (tmp_path / "words.txt").write_text("heron\nサギ\n\n heron \nlamp\n", encoding="utf-8")
    out = tmp_path / "vocabulary.safetensors"
    asked = ["--vocabulary", tmp_path / "words.txt", "--tower", text, "--out", out]
    said = call("words", *asked, "--template", "a photo of a {}", "--scale", "14").stdout
    assert said == f"3 words of 8 numbers each are in {out}\n"
    assert TextVocabulary.open(out).words == ("heron", "サギ", "lamp")
    assert TextVocabulary.open(out).logit_scale == 14
    call("words", *asked)  # over our own
    (tmp_path / "mine.txt").write_text("mine")
    mine = [*map(str, asked[:-1]), str(tmp_path / "mine.txt")]
    check_refusal(["words", *mine], "this command did not write it")
    (tmp_path / "words.txt").write_text("\n")
    check_refusal(["words", *map(str, asked)], "There is no word in")
    for i, photo in enumerate(photos[:8]):
        (tmp_path / "photos").mkdir(exist_ok=True)
        Image.fromarray(photo).save(tmp_path / "photos" / f"{i}.png")
    built = call(
        *("build", tmp_path / "photos", "--out", tmp_path / "guide", "--embedder", tower),
        *("--vocabulary", out, "--features", "deep", "--jobs", "1"),
    )
    assert built.exit_code == 0
    assert (tmp_path / "guide" / "editions" / "1" / "models" / "vocabulary.safetensors").exists()
