import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.features.own_words import find_own_words, share_parts, stem_word
from fieldguide.features.properties import PROPERTY_NAMES
from fieldguide.features.vocabulary import load_vocabulary
from fieldguide.features.words import WordModel

HERON, AMBULANCE = 131, 407


def columns(**options):
    """The words of a collection as {word: (source, rows that have it)}."""
    n = len(next(iter(options.values())))
    return {
        name: (found.source, np.flatnonzero(found.scores[:, k]).tolist())
        for found in find_own_words(n, **options)
        for k, name in enumerate(found.names)
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("animal", "Animals"),
        ("butterfly", "butterflies"),
        ("cookie", "cookies"),
        ("bus", "buses"),
        ("house", "houses"),
        ("box", "boxes"),
        ("branch", "branches"),
        ("potato", "potatoes"),
        ("shoe", "shoes"),
        ("leaf", "leaves"),
        ("goose", "geese"),
        ("bird of prey", "Birds_of_prey"),
    ],
)
def test_singular_and_plural_are_one_idea(one, other):
    assert stem_word(one) == stem_word(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("plan", "plane"),
        ("pin", "pines"),
        ("cap", "cape"),
        ("glass", "glasses"),
        ("gas", "ga"),
        ("bus", "bu"),
        ("len", "lens"),
        ("bird", "birdhouse"),
    ],
)
def test_other_words_stay_apart(one, other):
    assert stem_word(one) != stem_word(other)


def test_no_two_words_of_our_own_are_one_idea():
    words = [*load_vocabulary().names, *PROPERTY_NAMES]
    assert len({stem_word(word) for word in words}) == len(words)


@given(st.text(max_size=30))
def test_a_stem_is_never_empty_and_ignores_case_of_ascii(word):
    assert stem_word(word) or not word
    if word.isascii():
        assert stem_word(word.upper()) == stem_word(word)


def test_one_idea_is_one_column_in_the_owner_s_commonest_form():
    keywords = [["animals"], ["Animals", "animals"], ["animal"], []]
    paths = ["x/a.jpg", "y/b.jpg", "z/c.jpg", "Animals/d.jpg"]
    found = columns(keywords=keywords, paths=paths, kinds=[None] * 4)
    assert found == {"animals": ("keyword", [0, 1, 2, 3])}


def test_folders_at_every_level_give_words():
    paths = ["Lake/reed beds/heron/1.jpg", "lakes/heron/2.jpg", "sea/gull/3.jpg"]
    found = columns(paths=paths, kinds=["heron", "heron", "gull"])
    assert found["lake"] == ("folder", [0, 1])
    assert found["reed"] == ("folder", [0])
    assert "heron" not in found


def test_folders_of_cameras_give_no_words():
    paths = ["2019/river/100CANON/1.jpg", "2019/NIKON D70/2.jpg", "2019/sea/iPhone/3.jpg"]
    assert set(columns(paths=paths, kinds=[None] * 3)) == {"2019", "river", "sea"}


@pytest.mark.parametrize(
    ("kinds", "parts"),
    [
        (["046.Cape_May_Warbler", "Palm Warbler", "Brown Creeper"], {"warbler": 2}),
        (["cougar_body", "cougar_face", "Faces", "faces_easy"], {"cougar": 2, "faces": 2}),
        (["House_Sparrow", "House_Wren", "Black_footed_Albatross"], {}),
        (["Pine Warbler", "Lodgepole Pine"], {}),
        (["Ardea cinerea", "Ardea alba", "Corvus corax", "Pica pica"], {"ardea": 2}),
        (["Red Owls", "Barn owl"], {"owls": 1, "owl": 1}),
        (["class 1", "class 2"], {"class": 2}),
        (["1", "2", ""], {}),
    ],
)
def test_kinds_that_end_alike_share_a_word(kinds, parts):
    shared = share_parts(kinds)
    assert set(shared) == set(kinds)
    said = [word for words in shared.values() for word in words]
    assert {word: said.count(word) for word in said} == parts


def test_a_word_of_kinds_is_said_of_their_images_alone():
    kinds = ["Palm Warbler", "Pine Warbler", "Wren", None]
    assert columns(kinds=kinds) == {"warbler": ("kind", [0, 1])}


def test_words_that_nobody_repeats_are_left_out():
    keywords = [["dusk", f"name {i}"] for i in range(50)]
    (found,) = find_own_words(50, keywords=keywords, least=2)
    assert found.names == ("dusk",)
    assert find_own_words(50, keywords=keywords, least=51) == []


def test_the_owners_form_stands_for_the_network_s():
    probabilities = np.full((4, 1000), 1e-4, np.float32)
    probabilities[[0, 1, 2, 3], [HERON, HERON, AMBULANCE, AMBULANCE]] = 0.9
    model = WordModel(min_images=1)
    keywords = [["animals"], ["dusk"], ["vehicles"], ["vehicles"]]
    matrix = model.fit_transform(probabilities, keywords=keywords)
    sources = dict(zip(matrix.names, matrix.sources, strict=True))
    assert sources["animals"] == sources["vehicles"] == "keyword"
    assert not {"animal", "vehicle"} & set(matrix.names)
    np.testing.assert_array_equal(matrix.scores[:, matrix.names.index("animals")], [1, 0, 0, 0])
    assert sources["bird"] == "network"


def test_the_network_speaks_of_images_of_which_the_owner_is_silent():
    probabilities = np.full((4, 1000), 1e-4, np.float32)
    probabilities[:, HERON] = 0.9
    probabilities[3, [HERON, AMBULANCE]] = 1e-4, 0.9
    keywords = [["birds"], ["dusk"], [], []]
    matrix = WordModel(min_images=1).fit_transform(probabilities, keywords=keywords)
    column = matrix.scores[:, matrix.names.index("birds")]
    assert matrix.sources[matrix.names.index("birds")] == "keyword"
    np.testing.assert_array_equal(column >= 0.5, [True, False, True, False])
    assert "bird" not in matrix.names


def test_annotations_that_are_one_idea_all_stay():
    annotated = np.array([[1, 0], [0, 1], [0, 0]])
    names = ["spot", "spots"]
    matrix = WordModel(min_images=1).fit_transform(
        None, annotated=annotated, annotated_names=names, keywords=[["spots"], [], ["spots"]]
    )
    assert matrix.names == ("spot", "spots")
    assert matrix.sources == ("annotation", "annotation")


@given(
    st.lists(st.lists(st.sampled_from(["Owl", "owls", "sea", "seas", "x"])), max_size=8),
    st.randoms(),
)
def test_the_order_of_images_does_not_matter(keywords, random):
    order = list(range(len(keywords)))
    random.shuffle(order)
    there = find_own_words(len(keywords), keywords=keywords)
    here = find_own_words(len(keywords), keywords=[keywords[i] for i in order])
    assert [found[:2] for found in there] == [found[:2] for found in here]
    for one, other in zip(there, here, strict=True):
        np.testing.assert_array_equal(one.scores[order], other.scores)
