import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.errors import InvalidArgument
from fieldguide.features.properties import PROPERTY_NAMES
from fieldguide.features.vocabulary import load_vocabulary
from fieldguide.features.words import SOURCES, AttributeMatrix, WordModel

quick = settings(deadline=None, max_examples=30)
seeds = st.integers(0, 2**32 - 1)
HERON, AMBULANCE = 131, 407


def attribute_matrix(probabilities=None, properties=None, **options) -> AttributeMatrix:
    """What a WordModel makes of a collection; its own settings may be among the options."""
    names = ("min_share", "max_share", "min_images", "kind_words")
    settings = {name: options.pop(name) for name in names if name in options}
    return WordModel(**settings).fit_transform(probabilities, properties, **options)


def classes(*indices: int, p: float = 0.9) -> np.ndarray:
    probabilities = np.full((len(indices), 1000), (1 - p) / 999, np.float32)
    probabilities[np.arange(len(indices)), list(indices)] = p
    return probabilities


def random_collection(seed: int, n: int) -> dict:
    rng = np.random.default_rng(seed)
    probabilities = rng.gamma(0.02, size=(n, 1000)) + 1e-12
    probabilities[:, rng.integers(0, 1000, 5)] += rng.random((n, 5)) * 5
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    words = ["bird", "mostly green", "Loire", "at dusk"]
    return {
        "probabilities": probabilities.astype(np.float32),
        "properties": rng.random((n, len(PROPERTY_NAMES))).astype(np.float32),
        "paths": [f"{rng.integers(2018, 2022)}/bird_river/k{i % 3}/{i}.jpg" for i in range(n)],
        "keywords": [[w for w in words if rng.random() < 0.4] for _ in range(n)],
        "annotated": rng.random((n, 2)),
        "annotated_names": ["has wing", "bird"],
    }


def select_rows(collection: dict, order: np.ndarray) -> dict:
    chosen = {}
    for key, values in collection.items():
        if key == "annotated_names":
            chosen[key] = values
        elif isinstance(values, np.ndarray):
            chosen[key] = values[order]
        else:
            chosen[key] = [values[i] for i in order]
    return chosen


def assert_same(a: AttributeMatrix, b: AttributeMatrix) -> None:
    np.testing.assert_array_equal(a.scores, b.scores)
    assert (a.names, a.sources) == (b.names, b.sources)


@quick
@given(seeds, st.integers(1, 30))
def test_scores_names_and_kept_columns(seed, n):
    collection = random_collection(seed, n)
    matrix = attribute_matrix(**collection, min_images=2)
    scores, names, sources = matrix
    assert scores.shape == (n, len(names))
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()
    assert len(set(names)) == len(names) == len(sources)
    assert set(sources) <= set(SOURCES)
    n_yes = (scores >= 0.5).sum(axis=0)
    assert ((n_yes >= 2) & (n_yes <= 0.98 * n)).all()
    for source in SOURCES:
        said = (scores >= 0.5)[:, [s == source for s in sources]]
        assert len({column.tobytes() for column in said.T}) == said.shape[1]


@quick
@given(seeds, st.randoms(use_true_random=False))
def test_permuting_the_images_permutes_the_rows(seed, random):
    collection = random_collection(seed, 12)
    order = list(range(12))
    random.shuffle(order)
    matrix = attribute_matrix(**collection)
    permuted = attribute_matrix(**select_rows(collection, np.array(order)))
    assert_same(permuted, matrix._replace(scores=matrix.scores[order]))


@quick
@given(seeds)
def test_the_same_images_get_the_same_words_again(seed):
    collection = random_collection(seed, 12)
    model = WordModel()
    matrix = model.fit_transform(**collection)
    again = model.transform(collection["probabilities"], collection["properties"])
    assert (again.names, again.sources) == (matrix.names, matrix.sources)
    for k, source in enumerate(matrix.sources):
        expected = matrix.scores[:, k] if source in ("network", "picture") else 0
        np.testing.assert_array_equal(again.scores[:, k], expected)
    one = model.transform(collection["probabilities"][4:5], collection["properties"][4:5])
    np.testing.assert_array_equal(one.scores, again.scores[4:5])


@quick
@given(seeds)
def test_a_stored_model_is_the_same_model(seed):
    collection = random_collection(seed, 12)
    model = WordModel(min_share=0.1, max_share=0.9, min_images=1, kind_words=True)
    model.fit_transform(**collection)
    stored = json.loads(json.dumps(model.to_dict()))
    opened = WordModel.from_dict(stored)
    assert opened.to_dict() == model.to_dict()
    arrays = collection["probabilities"], collection["properties"]
    assert_same(opened.transform(*arrays), model.transform(*arrays))


def test_a_stored_model_of_another_vocabulary_is_refused():
    stored = WordModel().to_dict()
    for change in ({"format": 99}, {"names": ["chordate"], "sources": ["network"]}):
        with pytest.raises(InvalidArgument, match="another version"):
            WordModel.from_dict(stored | change)


def test_network_words_follow_the_hierarchy():
    model = WordModel(min_images=1)
    scores, names, _ = model.fit_transform(classes(HERON, HERON, AMBULANCE, AMBULANCE, 130, 292))
    yes = {name: (scores[:, k] >= 0.5).tolist() for k, name in enumerate(names)}
    assert yes["animal"] == [True, True, False, False, True, True]
    assert yes["wading bird" if "wading bird" in yes else "bird"] == [
        True,
        True,
        False,
        False,
        True,
        False,
    ]
    assert yes["heron"] == [True, True, False, False, False, False]
    assert yes["vehicle"] == [False, False, True, True, False, False]
    assert "ambulance" not in yes, "the same images as vehicle, which is more general"


def test_a_word_said_of_all_images_or_of_too_few_is_dropped():
    probabilities = classes(*[HERON] * 9, AMBULANCE)
    assert "vehicle" not in attribute_matrix(probabilities).names
    assert "vehicle" in attribute_matrix(probabilities, min_images=1).names
    assert "animal" in attribute_matrix(probabilities, min_images=1).names
    assert attribute_matrix(classes(*[HERON] * 9)).names == ()


def test_folders_give_words_without_the_kind():
    paths = ["2019/River_Trip/heron/img_1.jpg", "2019\\sea\\gull\\2.jpg", "07/train/gull/3.jpg"]
    settings = {"min_images": 1}
    matrix = attribute_matrix(None, paths=paths, **settings)
    assert matrix.names == ("2019", "river", "sea")
    np.testing.assert_array_equal(matrix.scores, [[1, 1, 0], [1, 0, 1], [0, 0, 0]])
    labelled = attribute_matrix(None, paths=paths, kinds=["heron", None, "gull"], **settings)
    assert labelled.names == ("2019", "gull", "river")
    asked = attribute_matrix(None, paths=paths, kind_words=True, **settings)
    assert {"heron", "gull"} <= set(asked.names)


def test_keywords_stay_in_the_owners_words():
    keywords = [["Grey  Heron", "dusk"], [], {"dusk", "Loire"}, ["dusk "]]
    matrix = attribute_matrix(None, keywords=keywords, min_images=1)
    assert matrix.names == ("Grey Heron", "Loire", "dusk")
    np.testing.assert_array_equal(matrix.scores, [[1, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 1]])


def test_the_same_word_from_two_sources_is_the_owners():
    probabilities = classes(HERON, 292, AMBULANCE)
    matrix = attribute_matrix(
        probabilities,
        keywords=[["bird"], ["bird"], []],
        annotated=np.array([[0.2], [0.4], [0.9]]),
        annotated_names=["bird"],
        min_images=1,
    )
    found = {n: s for n, s in zip(matrix.names, matrix.sources, strict=True) if n == "bird"}
    assert found == {"bird": "annotation"}
    column = matrix.scores[:, matrix.names.index("bird")]
    np.testing.assert_allclose(column, [0.2, 0.4, 0.9])


def test_attributes_that_the_very_same_images_show_are_one_word_and_the_others_are_kept_by_name():
    annotated = np.array([[1, 0.9, 0, 1, 0], [0, 0.2, 1, 1, 0], [0, 0.1, 1, 0, 0]])
    names = ["feathered", "beaked", "finned", "wet", "none"]
    model = WordModel(min_images=1)
    matrix = model.fit_transform(None, annotated=annotated, annotated_names=names)
    assert matrix.names == ("feathered", "finned", "wet")
    assert model.same_ == {"beaked": "feathered"}  # "none" is shown by no image
    stored = json.loads(json.dumps(model.to_dict()))
    assert WordModel.from_dict(stored).same_ == model.same_
    earlier = {key: value for key, value in stored.items() if key != "same"}
    assert WordModel.from_dict(earlier).same_ == {}
    with pytest.raises(ValueError, match="not among its words"):
        WordModel.from_dict(stored | {"same": {"beaked": "furry"}})


def test_no_columns_and_no_images():
    assert attribute_matrix(classes()).scores.shape == (0, 0)
    assert WordModel().transform(classes(HERON)).scores.shape == (1, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"properties": np.zeros((12, 2))}, "properties must have shape"),
        ({"paths": ["a.jpg"]}, "same images"),
        ({"annotated_names": ["one"]}, "annotated_names"),
        ({"annotated_names": ["one", "one"]}, "different"),
        ({"annotated": np.full((12, 2), np.nan)}, r"\[0, 1\]"),
        ({"min_share": 2}, "min_share of WordModel"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change, message):
    with pytest.raises(InvalidArgument, match=message):
        attribute_matrix(**(random_collection(0, 12) | change))


def test_transform_asks_for_what_it_was_fitted_with():
    model = WordModel(min_images=1)
    model.fit_transform(classes(HERON, AMBULANCE))
    with pytest.raises(InvalidArgument, match="probabilities must be given"):
        model.transform(None, np.zeros((1, len(PROPERTY_NAMES))))
    assert set(model.names_) <= set(load_vocabulary().names)
