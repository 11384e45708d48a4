"""Words by a text tower: against what the same weights give in NumPy, and what is refused."""

import json
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from safetensors.numpy import save_file
from tests.features.exported import save_text_tower

from fieldguide.errors import EmbedderError
from fieldguide.features import TextTower, TextVocabulary
from fieldguide.features.text_vocabulary import score_text, support_text

pytest.importorskip("tokenizers")
IDS = {
    "heron": [5],
    "Reiher": [7],
    "サギ": [8],
    "tall heron": [9, 5],
    "a photo of a lamp": [2, 3, 4, 2, 6],
}


def refer(path, ids, length=None):
    """Compute by hand what the tower of ``save_text_tower`` says of some tokens, of length 1."""
    constants = {c.name: numpy_helper.to_array(c) for c in onnx.load(path).graph.initializer}
    table = next(c for c in constants.values() if c.shape == (50, 12))
    projection = next(c for c in constants.values() if c.shape == (12, 8))
    ids = [*ids, 1]
    ids += [1] * ((length or len(ids)) - len(ids))
    row = np.tanh(table[ids].astype(float).mean(axis=0)) @ projection
    return row / np.linalg.norm(row)


@pytest.mark.parametrize(("config", "length"), [("clip", None), ("siglip", 6)])
def test_words_are_what_numpy_makes_of_them(tmp_path, config, length):
    path = save_text_tower(tmp_path, config)
    rows = TextTower(path).read_words(list(IDS))
    expected = [refer(path, ids, length) for ids in IDS.values()]
    np.testing.assert_allclose(rows, expected, atol=1e-4)
    np.testing.assert_allclose(TextTower(path).read_words(["サギ"])[0], rows[2], atol=1e-6)


def test_a_tower_of_one_length_gets_texts_of_that_length(tmp_path):
    path = save_text_tower(tmp_path, "other", longest=4)
    rows = TextTower(path).read_words(["heron", "a photo of a lamp"])
    cut = refer(path, [2, 3, 4], 4)  # the last token stays the end
    np.testing.assert_allclose(rows, [refer(path, [5], 4), cut], atol=1e-4)


def test_texts_of_siglip_have_no_capitals_and_no_punctuation(tmp_path):
    path = save_text_tower(tmp_path, "siglip")
    told = {"pad_token": {"content": "<end>"}, "tokenizer_class": "SiglipTokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(told))
    rows = TextTower(path).read_words(["Heron"], ["A photo of  {}."])
    np.testing.assert_allclose(rows, [refer(path, [2, 3, 4, 5], 6)], atol=1e-4)


def test_several_templates_are_the_mean_of_each(tmp_path):
    path = save_text_tower(tmp_path)
    rows = TextTower(path).read_words(["lamp"], ["{}", "a photo of a {}"])
    mean = refer(path, [6]) + refer(path, [2, 3, 4, 2, 6])
    np.testing.assert_allclose(rows[0], mean / np.linalg.norm(mean), atol=1e-4)


def test_chances_are_clips_and_siglips():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(4, 8)), rng.normal(size=(3, 8))
    cosine = (x / np.linalg.norm(x, axis=1)[:, None]) @ (t / np.linalg.norm(t, axis=1)[:, None]).T
    clip = TextVocabulary.make("abc", t, logit_scale=7.0).chances(x)
    e = np.exp(7 * cosine)
    np.testing.assert_allclose(clip, e / e.sum(axis=1)[:, None], atol=1e-6)
    siglip = TextVocabulary.make("abc", t, logit_scale=7.0, logit_bias=-2.0).chances(x)
    np.testing.assert_allclose(siglip, 1 / (1 + np.exp(2 - 7 * cosine)), atol=1e-6)


def test_a_word_is_said_from_the_threshold_on_and_where_it_is_sure():
    scores = score_text(np.array([[0.2, 0.3, 0.9], [0.1, 0.2, 0.9]]))
    assert (scores >= 0.5).tolist() == [[False, True, True], [False, False, True]]
    assert support_text(scores).tolist() == [False, False, True]


@pytest.mark.parametrize("bias", [None, -16.5])
def test_what_is_written_is_what_is_read(tmp_path, bias):
    text = np.random.default_rng(1).normal(size=(3, 8))
    made = TextVocabulary.make(["heron", "サギ", "a  tall\tlamp"], text, logit_bias=bias)
    made.save(tmp_path / "v.safetensors")
    read = TextVocabulary.open(tmp_path / "v.safetensors")
    assert read.words == ("heron", "サギ", "a tall lamp")
    assert (read.logit_scale, read.logit_bias) == (100.0, bias)
    np.testing.assert_allclose(read.text, made.text, atol=1e-6)


def test_what_is_no_vocabulary_is_said_in_one_sentence(tmp_path):
    rows = np.ones((2, 4), np.float32)
    for words, text, more, message in [
        (["a", "a"], rows, {}, "different words"),
        (["a", ""], rows, {}, "different words"),
        ([], rows[:0], {}, "1 to 20,000"),
        (["a"], rows, {}, "a row of numbers for each of its 1 words"),
        (["a", "b"], rows.astype(int), {}, "a row of numbers"),
        (["a", "b"], rows * [[1], [0]], {}, "zeros, NaN or infinity"),
        (["a", "b"], rows * np.nan, {}, "zeros, NaN or infinity"),
        (["a", "b"], rows, {"logit_scale": 0.0}, "logit_scale of a vocabulary must be above 0"),
    ]:
        with pytest.raises(EmbedderError, match=message):
            TextVocabulary.make(words, text, **more)
    made = TextVocabulary.make(["a", "b"], rows)
    with pytest.raises(EmbedderError, match="have 4 numbers each and the pictures 3"):
        made.chances(np.ones((2, 3)))
    path = tmp_path / "v.safetensors"
    with pytest.raises(EmbedderError, match="cannot be read"):
        TextVocabulary.open(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(EmbedderError, match="cannot be read"):
        TextVocabulary.open(path)
    save_file({"text": rows}, path)
    with pytest.raises(EmbedderError, match="no tensor 'text' with 'words'"):
        TextVocabulary.open(path)
    save_file({"text": rows}, path, {"words": json.dumps(["a"])})
    with pytest.raises(EmbedderError, match="does not fit: The text of a vocabulary"):
        TextVocabulary.open(path)


def test_a_vocabulary_beside_the_image_tower_is_found(tmp_path):
    (tmp_path / "onnx").mkdir()
    tower = tmp_path / "onnx" / "vision_model.onnx"
    assert TextVocabulary.find([str(tower)]) is None
    TextVocabulary.make(["a"], np.ones((1, 4))).save(tmp_path / "vocabulary.safetensors")
    assert TextVocabulary.find([str(tower)]).words == ("a",)
    assert TextVocabulary.find([str(tower), "lite1"]) is None
    assert TextVocabulary.find([]) is None


def test_wrong_layouts_are_refused(tmp_path, monkeypatch):
    path = save_text_tower(tmp_path, "siglip")
    with pytest.raises(EmbedderError, match=r"\{\} once, where the word goes; got 'a photo'"):
        TextTower(path).read_words(["a"], ["a photo"])

    def break_it(name, content, message):
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "onnx", folder / "onnx")
        for each in tmp_path.glob("*.json"):
            shutil.copy(each, folder)
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(content)
        with pytest.raises(EmbedderError, match=message):
            TextTower(folder / "onnx" / "text_model.onnx")

    break_it("tokenizer.json", None, r"There is no tokenizer.json beside the text tower")
    break_it("tokenizer.json", "{}", r"tokenizer.json beside .* cannot be read")
    break_it("config.json", "{", r"config.json beside .* is damaged")
    break_it("tokenizer_config.json", "{}", "no tokenizer_config.json beside it says which pad")
    break_it("onnx/text_model.onnx", "no network", "cannot be run")
    model = onnx.load(path)
    for name, message in [("words", "must take input_ids"), ("input_ids", "must give one row")]:
        other = onnx.ModelProto()
        other.CopyFrom(model)
        other.graph.input[0].name = name
        if name == "input_ids":
            del other.graph.output[1]
        else:
            other.graph.node[0].input[1] = name
        onnx.save(other, tmp_path / "onnx" / "other.onnx")
        with pytest.raises(EmbedderError, match=message):
            TextTower(tmp_path / "onnx" / "other.onnx")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(EmbedderError, match="needs the package tokenizers: pip install"):
        TextTower(path)
