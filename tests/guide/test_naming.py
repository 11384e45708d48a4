import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.guide.naming import display_name, show_kinds


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["017.Cardinal", "046.Cape_May_Warbler"], ["Cardinal", "Cape May Warbler"]),
        (["cougar_face", "crocodile"], ["cougar face", "crocodile"]),
        (["001_acorn", "birch"], ["acorn", "birch"]),
        (["1_acorn", "2_birch", "3_elm"], ["acorn", "birch", "elm"]),
        (["3_spined_stickleback", "pike", "perch"], ["3 spined stickleback", "pike", "perch"]),
        (["n02085620-Chihuahua", "n02086240-Shih-Tzu"], ["Chihuahua", "Shih-Tzu"]),
        (["017.Cardinal", "Cardinal"], ["017.Cardinal", "Cardinal"]),
        (["1.red_owl", "2.red owl"], ["1.red owl", "2.red owl"]),
        (["a_b", "a b"], ["a_b", "a b"]),
        (["2020", "01", "_", "1.2"], ["2020", "01", "_", "1.2"]),
        ([], []),
    ],
)
def test_kinds_are_written_as_people_do(names, shown):
    assert show_kinds(names) == shown


@given(st.lists(st.text("01.a_ -n", min_size=1, max_size=6), unique=True, max_size=12))
def test_no_two_kinds_are_written_alike(names):
    shown = show_kinds(names)
    assert len(set(shown)) == len(names)
    assert all(shown)


@given(st.lists(st.text("01.a_ ", min_size=1, max_size=5), unique=True, max_size=8), st.randoms())
def test_the_order_of_kinds_does_not_matter(names, random):
    order = list(range(len(names)))
    random.shuffle(order)
    shown = show_kinds(names)
    assert show_kinds([names[i] for i in order]) == [shown[i] for i in order]


def test_names_keep_something_to_read():
    assert display_name("crocodile_head") == "crocodile head"
    assert display_name("_") == "_"
