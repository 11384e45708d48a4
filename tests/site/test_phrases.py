import pytest

from fieldguide.site import making, phrases, times


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0%"),
        (1e-6, "under 1%"),
        (0.5, "50%"),
        (0.994, "99%"),
        (0.9999, "over 99%"),
        (1.0, "100%"),
    ],
)
def test_only_what_is_whole_reads_as_whole(share, text):
    assert phrases.percent(share) == text


def test_counts_read_as_words():
    assert phrases.count(0, "branch") == "no branches"
    assert phrases.count(1, "branch") == "1 branch"
    assert phrases.count(1204, "specimen") == "1,204 specimens"


@pytest.mark.parametrize("probability", [-0.1, 0.0, 0.39, 0.4, 0.61, 0.8, 0.95, 1.0])
def test_every_probability_has_a_phrase(probability):
    assert phrases.how_sure(probability)


def test_a_picture_is_described_by_kind_and_words():
    describe = phrases.alternative_text
    assert describe("red finch", ("winged", "red cap"), "x") == "red finch: winged, red cap"
    assert describe("red finch", (), "x") == "red finch"
    assert describe(None, ("winged",), "x") == "winged"
    assert describe(None, (), "a.jpg") == "a.jpg"


def test_other_files_are_counted_by_type():
    assert making.word_others({}) == ""
    assert making.word_others({".txt": 1}) == "1 file that is no picture: .txt (1)"
    assert making.word_others({".csv": 1, ".xml": 2}).endswith(": .xml (2), .csv (1)")
    many = {f".{k:03d}": 1 for k in range(300)}
    said = making.word_others(many)
    assert said.startswith("300 files that are no pictures: .000 (1), ")
    assert said.endswith(", 292 more types")


def test_moments_read_as_dates():
    assert times.moment("2026-11-05T09:30:00+01:00") == "5 November 2026, 08:30 UTC"
    assert times.moment("long ago") == "long ago"


def test_durations_and_lists():
    assert times.duration(0.2) == "under a second"
    assert times.duration(74.2) == "74 seconds"
    assert times.duration(600) == "10 minutes"
    assert times.duration(36000) == "10 hours"
    assert [phrases.listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_a_tree_is_named_by_how_it_was_grown():
    sampled = {
        "method": "attribute", "because": "asked for", "n_words": 24, "n_chains": 2,
        "n_sweeps": 100, "n_start": 26, "n_nodes": 1, "r_hat": 2.14, "purity": 0.5,
        "locality": -1.25,
    }  # fmt: skip
    facts = dict(making.word_tree({"tree": sampled}))
    assert facts["Tree"] == making.tree_name({"tree": sampled}) == "Attribute Tree Process"
    assert facts["Grown from"] == "24 words"
    assert facts["Sampled"].startswith("2 chains of 100 sweeps, begun at a clustering with 26 bra")
    assert "the best sample has 1 branch " in facts["Sampled"]
    assert facts["Do chains agree"].startswith("no: R-hat of the joint density is 2.1")
    assert making.word_r_hat(1.04).startswith("yes: ")
    assert making.word_r_hat(None) == "not known"
    assert "50% of specimens" in facts["Beside the kinds"]
    assert "1.2 steps" in facts["Beside the kinds"]


def test_trees_of_older_guides_are_named_too():
    assert making.word_tree({"settings": {"tree": "agglomerative, Ward"}}) == [
        ("Tree", "agglomerative, Ward")
    ]
    assert making.tree_name({}) == "unknown"


def test_steps_of_a_build_come_with_their_share_the_longest_first():
    took = {"opening": 0.0, "reading images": 1.0, "growing the tree": 3.0}
    told = making.word_steps({"step_seconds": took})
    assert told == [("growing the tree", "3.0 s, 75 %"), ("reading images", "1.0 s, 25 %")]
    assert making.word_steps({}) == []


def test_the_longest_step_of_a_quick_build_is_told_all_the_same():
    told = making.word_steps({"step_seconds": {"opening": 0.0, "growing the tree": 0.012}})
    assert told == [("growing the tree", "0.0 s, 100 %")]
    assert making.word_steps({"step_seconds": {"opening": 0.0}}) == [("opening", "0.0 s, 0 %")]


def test_an_update_says_what_was_measured_and_what_was_fitted_again():
    update = {"measured": 1, "kept": 1200, "moved": 3, "gone": 0}
    took = {"reading images": 2.0, "looking closer": 1.0, "growing the tree": 65.0}
    told = making.word_update({"update": update, "step_seconds": took})
    assert told == (
        "1 picture measured, 1,200 known already, 3 recognised under another name. "
        f"Measuring took {times.duration(3.0)}; words, tree, key and all that follows "
        f"from them were fitted again, in {times.duration(65.0)}."
    )
    assert making.word_update({"update": update}).endswith("another name.")
    assert making.word_update({}) == ""
