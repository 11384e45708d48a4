"""What a query finds: against sets, whatever the words; and what a person may type."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.clock import within_cpu_seconds

from fieldguide.errors import InvalidArgument
from fieldguide.guide import Guide
from fieldguide.guide.catalogue import Catalogue, write_catalogue
from fieldguide.guide.finding import Finder, rewrite_term
from fieldguide.guide.query import MOST_LETTERS, MOST_WORDS, parse_query, write_term
from fieldguide.guide.spelling import count_slips, plain, singulars

ODD = ['12" disc', "a, b; c", "not red", "-tail", "kind:owl", "and", "Red", "red", "réd", "\\", "…",
       "red spots", "red spot", "black and white", "  two  blanks ", "word", "x" * 80]  # fmt: skip

SIGNS = ['"', "-", "not", ",", "kind:", "file:", "\\", "red", "and", " ", "−"]


@pytest.fixture(scope="module")
def make_finder(tmp_path_factory):
    """Make a finder of specimens given as (path, kind, {word: score})."""
    folder = tmp_path_factory.mktemp("catalogues")
    made = []

    def make(specimens):
        path = folder / f"{len(made)}.sqlite"
        words = sorted({word for _, _, shown in specimens for word in shown})
        rows = [
            (i, name, "", "", kind, 1, 1, 0, "[]", 0, None, None, (i * 7 % 11) / 11)
            for i, (name, kind, _) in enumerate(specimens)
        ]
        shows = [
            (i, words.index(word), score)
            for i, (_, _, shown) in enumerate(specimens)
            for word, score in shown.items()
        ]
        write_catalogue(path, rows, [(word, "network") for word in words], shows, [], [], [])
        kinds = sorted({kind for _, kind, _ in specimens if kind is not None})
        counted = [(kind, sum(k == kind for _, k, _ in specimens)) for kind in kinds]
        made.append(Catalogue(path))
        return Finder(made[-1], made[-1].words(), counted)

    yield make
    for catalogue in made:
        catalogue.close()


@pytest.fixture(scope="module")
def garden(make_finder):
    """A few specimens with names as people give them."""
    return make_finder(
        [
            ("birds/IMG_0042.jpg", "Cape_May_warbler", {"orange": 0.9, "spotted": 0.6}),
            ("birds/IMG_00421.jpg", "hooded warbler", {"orange": 0.8, "spotted": 0.9}),
            ("birds/100%_sure.jpg", "hooded warbler", {"orange": 0.7, "tail": 0.9}),
            ("insects/monarch 1.jpg", "monarch", {"orange": 1.0, "butterfly": 0.9}),
            ("insects/x.jpg", None, {"butterfly": 0.8, "mostly green": 0.7}),
            ("leaves/Élan.jpg", "oak leaf", {"mostly green": 0.9, "leaf": 0.9}),
        ]
    )


def list_ids(found):
    return [find.specimen.id for find in found.finds]


@st.composite
def collections(draw):
    names = draw(st.lists(st.sampled_from(ODD) | st.text(max_size=12), min_size=1, max_size=7,
                          unique=True))  # fmt: skip
    names = [n for n in names if n.strip() and n.encode("utf-8", "ignore").decode() == n] or ["a"]
    kinds = [None, *names[:2], "owl"]
    scores = st.dictionaries(st.sampled_from(names), st.integers(50, 100).map(lambda n: n / 100))
    specimens = draw(st.lists(st.tuples(st.sampled_from(kinds), scores), min_size=1, max_size=12))
    return [(f"{i}.jpg", kind, shown) for i, (kind, shown) in enumerate(specimens)]


@settings(max_examples=80, deadline=None)
@given(collections(), st.data())
@example([("0.jpg", "red", {"red": 0.5, "Red": 0.6})], None)
def test_terms_are_sets_and_queries_their_intersection(make_finder, specimens, data):
    """Whatever the names: each is found alone, and together they are the sets' intersection."""
    finder = make_finder(specimens)
    sets = {}
    for word in {word for _, _, shown in specimens for word in shown}:
        sets["word", word] = {i for i, (_, _, shown) in enumerate(specimens) if word in shown}
    for name in {kind for _, kind, _ in specimens if kind is not None}:
        sets["kind", name] = {i for i, (_, kind, _) in enumerate(specimens) if kind == name}
    for (form, name), members in sets.items():
        found = finder.find(write_term(name, form), limit=None)
        assert len(found.terms) == 1
        assert set(list_ids(found)) == members
    if data is None or not sets:
        return
    chosen = data.draw(
        st.lists(st.tuples(st.sampled_from(sorted(sets)), st.booleans()), min_size=1, max_size=4)
    )
    expected = set(range(len(specimens)))
    terms = []
    for (form, name), excludes in chosen:
        expected = expected - sets[form, name] if excludes else expected & sets[form, name]
        terms.append(("-" if excludes else "") + write_term(name, form))
    found = finder.find(", ".join(terms), limit=None)
    assert set(list_ids(found)) == expected
    assert found.total == len(expected)
    shuffled = finder.find(", ".join(data.draw(st.permutations(terms))), limit=None)
    assert [(f.specimen, f.score) for f in shuffled.finds] == [
        (f.specimen, f.score) for f in found.finds
    ]
    again = finder.find(", ".join(map(rewrite_term, found.terms)), limit=None)
    assert again.finds == found.finds
    for facet in finder.narrow(", ".join(terms)):
        assert facet.count == len(expected & sets[facet.form, facet.name])
        assert finder.find(facet.query, limit=1).total == facet.count


@settings(max_examples=50, deadline=None)
@given(collections())
def test_finds_rank_by_the_sum_of_their_scores_then_typicality(make_finder, specimens):
    finder = make_finder(specimens)
    words = sorted({word for _, _, shown in specimens for word in shown})[:2]
    if not words:
        return
    found = finder.find(", ".join(write_term(word, "word") for word in words), limit=None)
    rank = [
        (-sum(specimens[i][2][word] for word in words), -(i * 7 % 11), i) for i in list_ids(found)
    ]
    assert [(round(score, 9), *rest) for score, *rest in rank] == sorted(
        (round(score, 9), *rest) for score, *rest in rank
    )
    for find in found.finds:
        total = sum(specimens[find.specimen.id][2][word] for word in words)
        assert find.score == pytest.approx(total, abs=1e-5)
        assert set(find.because) >= set(words)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(SIGNS)).map("".join))
def test_any_text_is_a_query_or_has_no_term(garden, text):
    words = [word for piece in parse_query(text) for word in piece.words]
    if all(word.casefold() in ("and", "&", "+") for word in words):
        with pytest.raises(InvalidArgument, match="Say what to find"):
            garden.find(text, limit=3)
    else:
        found = garden.find(text, limit=3)
        assert found.terms
        again = garden.find(", ".join(map(rewrite_term, found.terms)), limit=3)
        assert (again.total, again.finds) == (found.total, found.finds)


@given(st.text(min_size=1, max_size=20), st.sampled_from(["", "word", "kind"]), st.booleans())
def test_a_written_name_is_read_as_one_term(name, form, excludes):
    if not name.strip():
        return
    (piece,) = parse_query(write_term(name, form, excludes, is_quoted=True))
    assert plain(" ".join(piece.words)) == plain(name)
    assert (piece.form, piece.excludes) == (form, excludes)


@pytest.mark.parametrize(
    ("query", "how", "ids"),
    [
        ("orange, spotted", ["exact", "exact"], [1, 0]),
        ("orange spotted", ["exact", "exact"], [1, 0]),
        ("orange and SPOTTED", ["exact", "exact"], [1, 0]),
        ("orange -tail", ["exact", "exact"], [3, 1, 0]),
        ("orange not tail not spotted", ["exact"] * 3, [3]),
        ("warbler", ["part"], [1, 2, 0]),
        ("warblers -hooded", ["part", "part"], [0]),
        ("cape may warbler", ["exact"], [0]),
        ("butterflies", ["plural"], [3, 4]),
        ("leaves", ["plural"], [5]),
        ("oak leaves", ["plural"], [5]),
        ("butter", ["beginning"], [3, 4]),
        ("spoted", ["slip"], [1, 0]),
        ("mostly gren", ["slip"], [5, 4]),
        ("warbelr, spoted", ["slip", "slip"], [1, 0]),
        ("IMG_0042", ["file"], [0]),
        ("img_0042.JPG", ["file"], [0]),
        ("IMG_004", ["file"], [0, 1]),
        ("100%", ["file"], [2]),
        ("insects", ["file"], [3, 4]),
        ("birds, tail", ["file", "exact"], [2]),
        ("file:monarch", ["file"], [3]),
        ("kind:monarch", ["exact"], [3]),
        ("kind:orange", [""], []),
        ("zzqq", [""], []),
        ("orange, zzqq", ["exact", ""], []),
        ("orange, -zzqq", ["exact", ""], [3, 0, 1, 2]),
        ("-orange", ["exact"], [4, 5]),
    ],
)
def test_what_a_person_may_type(garden, query, how, ids):
    found = garden.find(query)
    assert [term.how for term in found.terms] == how
    assert sorted(list_ids(found)) == sorted(ids)
    if "-zzqq" not in query and "warbler" not in query:
        assert found.total == len(ids)


def test_a_term_that_is_not_understood_comes_with_names_that_are_near(garden):
    (term,) = garden.find("mostly greenish blue").terms[:1]
    assert term.words == ("mostly green",)
    (term,) = garden.find('"spotless"').terms
    assert term.suggestions[0] == "spotted"
    (term,) = garden.find("zzqq").terms
    assert "orange" in term.suggestions


def test_short_words_are_not_corrected(make_finder):
    finder = make_finder([("a.jpg", None, {"cat": 0.9}), ("b.jpg", None, {"bats": 0.9})])
    assert finder.find("bat").terms[0].words == ("bats",)
    assert finder.find("cap").terms[0].how == ""


def test_the_nearest_spelling_wins_then_the_more_frequent(make_finder):
    finder = make_finder(
        [("a.jpg", None, {"striped": 0.9, "barred": 0.9}), ("b.jpg", None, {"stripes": 0.9}),
         ("c.jpg", None, {"stripes": 0.9, "barren": 0.9})]
    )  # fmt: skip
    assert finder.find("striqed").terms[0].words == ("striped",)
    assert finder.find("stripet").terms[0].words == ("stripes",)


def test_pages_of_finds_are_the_whole_list(garden):
    whole = garden.find("-zzqq", limit=None)
    assert whole.total == len(whole.finds) == 6
    parts = [garden.find("-zzqq", limit=2, start=start) for start in (0, 2, 4, 6)]
    assert [find for part in parts for find in part.finds] == list(whole.finds)
    assert {part.total for part in parts} == {6}


@pytest.mark.parametrize("query", ["", " ", ",", '""', "and"])
def test_an_empty_query_is_one_sentence(garden, query):
    with pytest.raises(InvalidArgument, match="Say what to find"):
        garden.find(query)


def test_a_long_query_is_one_sentence(garden):
    with pytest.raises(InvalidArgument, match=f"may have {MOST_LETTERS} letters"):
        garden.find("x" * (MOST_LETTERS + 1))
    with pytest.raises(InvalidArgument, match=f"may have {MOST_WORDS} words; this one has 41"):
        garden.find("red " * 41)
    with pytest.raises(InvalidArgument, match="limit of find"):
        garden.find("red", limit=0)
    with pytest.raises(InvalidArgument, match="start of find"):
        garden.find("red", start=-1)


def test_threads_share_a_finder(garden):
    queries = [
        "orange",
        "spotted",
        "warbler",
        "butterflies",
        "leaf",
        *(f"x{k}x" for k in range(60)),
    ]
    expected = [garden.find(query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(garden.find, queries)) == expected


@given(st.text("abcd", max_size=7), st.text("abcd", max_size=7))
def test_slips_are_counted_as_by_brute_force(a, b):
    """Restricted edit distance, by its recursion."""

    def distance(i, j):
        if not i or not j:
            return i + j
        best = min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            best = min(best, distance(i - 2, j - 2) + 1)
        return best

    if len(a) + len(b) <= 9:
        true = distance(len(a), len(b))
        for most in (1, 2, 9):
            assert count_slips(a, b, most) == min(true, most + 1)


@pytest.mark.parametrize(
    ("many", "one"),
    [("foxes", "fox"), ("berries", "berry"), ("leaves", "leaf"), ("knives", "knife"),
     ("mice", "mouse"), ("larvae", "larva"), ("fungi", "fungus"), ("movies", "movie"),
     ("glasses", "glass"), ("gloves", "glove")],
)  # fmt: skip
def test_plurals(many, one):
    assert one in singulars(many)
    assert singulars(one) == {one}


def test_every_word_lists_exactly_the_specimens_that_show_it(small_guide: Guide):
    shown = [dict(small_guide.words_of(i)) for i in range(small_guide.n_specimens)]
    assert set(small_guide.sources) == {word for word, _, _ in small_guide.words}
    for word, n, _ in small_guide.words:
        members = small_guide.members(word=word).tolist()
        assert sorted(members) == [i for i, words in enumerate(shown) if word in words]
        assert len(members) == n
        scores = [shown[i][word] for i in members]
        assert scores == sorted(scores, reverse=True)
        found = small_guide.find(write_term(word, "word"), limit=None)
        assert sorted(list_ids(found)) == sorted(members)
    for kind in small_guide.kinds:
        found = small_guide.find(write_term(kind.name, "kind"), limit=None)
        assert set(list_ids(found)) == set(small_guide.members(kind=kind.name))


def test_a_catalogue_of_an_earlier_version_is_searched_too(small_guide, tmp_path):
    """Its index has no scores."""
    path = tmp_path / "catalogue.sqlite"
    path.write_bytes((small_guide.edition / "catalogue.sqlite").read_bytes())
    db = sqlite3.connect(path)
    db.executescript(
        "DROP INDEX shows_attribute; CREATE INDEX shows_attribute ON shows (attribute);"
    )
    db.close()
    catalogue = Catalogue(path)
    words = [(word, n) for word, n, _ in small_guide.words]
    finder = Finder(catalogue, words, [(kind.name, kind.count) for kind in small_guide.kinds])
    query = write_term(words[0][0], "word")
    assert finder.find(query) == small_guide.find(query)
    assert finder.narrow(query) == small_guide.narrow(query)
    catalogue.close()


def test_a_large_collection_is_searched_quickly(tmp_path):
    """20,000 specimens × 50 words; 'benchmarks/run.py --only find' has 100,000."""
    rng = np.random.default_rng(0)
    n, n_words = 20_000, 50
    shows = rng.random((n, n_words)) < np.linspace(0.02, 0.6, n_words)
    i, j = np.nonzero(shows)
    scores = 0.5 + rng.random(len(i)) / 2
    rows = [
        (k, f"{k % 200}/IMG_{k:06}.jpg", "", "", f"kind {k % 200}", 1, 1, 0, json.dumps([]), 0,
         None, None, 0.5)
        for k in range(n)
    ]  # fmt: skip
    words = [(f"word {k}", "network") for k in range(n_words)]
    shown = zip(i.tolist(), j.tolist(), scores.tolist(), strict=True)
    write_catalogue(tmp_path / "c.sqlite", rows, words, shown, [], [], [])
    catalogue = Catalogue(tmp_path / "c.sqlite")
    finder = Finder(catalogue, catalogue.words(), [(f"kind {k}", 100) for k in range(200)])
    finder.find("word 0")
    for query, fits in (
        ("word 49, word 48", shows[:, 49] & shows[:, 48]),
        ("word 49, -word 48", shows[:, 49] & ~shows[:, 48]),
        ("IMG_012345", np.arange(n) == 12345),
    ):
        with within_cpu_seconds(0.5):
            found = finder.find(query)
        assert found.total == fits.sum()
    catalogue.close()
