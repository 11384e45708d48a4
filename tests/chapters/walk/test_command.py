"""``fieldguide key``: a walk in the terminal, and for a program."""

import json

import pytest
from PIL import Image
from tests.cli.commands import call, check_refusal, list_commands, run
from typer.testing import CliRunner

from fieldguide.chapters.walk.questions import read_questions
from fieldguide.chapters.walk.reading import find_question, name_question
from fieldguide.chapters.walk.walking import Walk
from fieldguide.cli import app
from fieldguide.collection import Collection
from fieldguide.errors import FieldguideError
from fieldguide.guide import Guide

pytest.importorskip("fieldguide.chapters.marks")


@pytest.fixture(scope="module")
def flat_guide(blobs, build_once):
    """A guide whose key has no couplets."""
    collection = Collection.from_arrays(*blobs, name="shapes")
    return build_once("coloured", collection, features="color", key="ova", n_jobs=1)


def type_in(guide, *lines, options=()):
    """Walk a guide by lines that are typed, and return what is printed."""
    typed = "".join(f"{line}\n" for line in lines)
    done = CliRunner().invoke(app, ["key", str(guide.folder), *options], input=typed)
    assert done.exit_code == 0, done.output
    return done.stdout


def tell(guide, *options):
    return json.loads(call("key", guide.folder, "--json", *options).stdout)


def true_answer(questions, kind, name):
    """What is true of most specimens of a kind, as it is typed."""
    j = find_question(questions, name)
    return bool(questions.levels[questions.kinds.index(kind), j] > 31)


def test_key_is_a_command():
    assert "key" in list_commands()


def test_a_program_is_told_what_follows(guide):
    questions = read_questions(guide)
    begun = tell(guide)
    assert {kind["name"] for kind in begun["kinds"]} == set(questions.kinds)
    assert sum(kind["probability"] for kind in begun["kinds"]) == pytest.approx(1, abs=0.01)
    assert begun["answers"] == []
    assert begun["is_decided"] is False
    assert begun["seen"] is None
    wanted, said = guide.kinds[3].name, []
    while begun["next"] and not begun["is_decided"]:
        name = begun["next"][0]["question"]
        said += ["--answer", f"{name}={'yes' if true_answer(questions, wanted, name) else 'no'}"]
        begun = tell(guide, *said)
        assert name not in [each["question"] for each in begun["next"]]
    assert begun["kinds"][0]["name"] == wanted
    assert begun["is_decided"]
    assert len(begun["answers"]) == len(said) // 2


def test_what_is_told_is_the_belief_of_a_walk(guide):
    questions = read_questions(guide)
    first, second = (name_question(questions.questions[j]) for j in (0, 1))
    told = tell(guide, "--answer", f"{first.upper()}=YES", "--answer", f"{second}=?")
    walk = Walk(questions)
    walk.answer(0, True)
    walk.answer(1, None)
    assert [(each["name"], each["probability"]) for each in told["kinds"]] == [
        (name, round(p, 4)) for name, p in walk.rank_kinds()
    ]
    assert told["answers"] == [
        {"question": first, "answer": "yes"},
        {"question": second, "answer": "cannot tell"},
    ]


def test_a_walk_to_a_kind(guide):
    """Each line answers what was asked, until the end offers to go on."""
    questions, wanted = read_questions(guide), guide.kinds[3].name
    walk, lines = Walk(questions), []
    while not walk.is_decided:
        j = walk.next_question(by_couplets=False)
        said = true_answer(questions, wanted, name_question(questions.questions[j]))
        walk.answer(j, said)
        lines.append("y" if said else "n")
    told = type_in(guide, *lines, "n")
    assert f"Most likely: {guide.shown_name(wanted)} 9" in told
    assert "Go on to be surer?" in told
    assert told.count("\n> ") == len(lines) + 1
    more = type_in(guide, *lines, "y")
    assert f"\n{len(lines) + 1}. " in more
    assert more.count("Most likely: ") == 1
    assert "These remain: " in more  # the lines end before it is surer


def test_back_list_why_and_another_question(guide):
    questions = read_questions(guide)
    last = questions.questions[questions.n_characters - 1].text
    told = type_in(
        guide, "why", "y", "why", "back", "back", "list", last, "n", "nonsense words", ""
    )
    assert "Taken back." in told
    assert "There is no answer to take back." in told
    assert f"{questions.n_characters:5}  {last}" in told
    assert f"{last[:1].upper()}{last[1:]}?" in told
    assert "No question of this guide is called 'nonsense words'." in told
    assert "speaks for" in told
    assert told.rstrip().splitlines()[-1].startswith("These remain: ")


def test_a_chosen_question_can_be_answered_anew(guide):
    text = read_questions(guide).questions[0].text
    told = type_in(guide, "1", "y", "1", "n", "quit")
    assert f"{text[:1].upper()}{text[1:]}? (you said yes)" in told


def test_the_end_of_the_input_ends_politely(guide):
    done = run("key", guide.folder, input="y\n")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "These remain: " in done.stdout
    assert call("key", guide.folder, input="").exit_code == 0


def test_nothing_left_to_ask(small_guide):
    """Answers that say nothing use up all questions."""
    n = read_questions(small_guide).n_characters
    told = type_in(small_guide, *["?"] * (n + 1))
    assert "Nothing is left to ask that would tell more." in told
    assert "which these characters do not tell apart: " in told


def test_the_machine_answers_first(guide, tmp_path):
    picture = tmp_path / "find.png"
    i = guide.kinds[0].exemplars[0]
    Image.open(guide.folder / guide.specimen(i).picture).save(picture)
    kinds = guide.identify([picture])[0].kinds
    told = tell(guide, "--image", str(picture))
    assert told["kinds"][0]["name"] == kinds[0].name
    # Tempered: the first is less sure than the machine is, and nothing is ruled out.
    assert min(each["probability"] for each in told["kinds"]) > 0
    assert told["kinds"][0]["probability"] < max(kinds[0].probability, 0.9)
    assert told["answers"] == []
    assert told["seen"]
    talked = type_in(guide, told["seen"][0], "n", "quit", options=["--image", str(picture)])
    assert "The machine says: " in talked
    assert f"It sees: {told['seen'][0]}" in talked
    assert "(the machine sees: yes)" in talked


def test_the_couplets_of_the_key(worded_guide):
    questions = read_questions(worded_guide)
    told = type_in(worded_guide, "+", "-", "?", "quit", options=["--couplets"])
    assert "1. Couplet 1: is it more like" in told
    first = questions.questions[questions.couplets[0]].couplet
    named = tell(worded_guide, "--couplets", "--answer", "couplet 1=plus")
    assert named["kinds"][0]["name"] in first.plus
    assert named["answers"] == [{"question": "couplet 1", "answer": "plus"}]


def test_a_guide_without_marks_goes_by_its_couplets(keyed_guide):
    told = type_in(keyed_guide, "+", "quit")
    assert "Couplet 1: is it more like" in told
    assert told.splitlines()[0].endswith("couplets.")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--couplets"], "The key of this guide has no couplets; build it with --key relaxed"),
        (["--answer", "winged"], "'winged' is no answer; write one as 'winged=yes'"),
        (["--answer", "=yes"], "'=yes' is no answer"),
        (["--answer", "has wangs=yes"], "No question of this guide is called 'has wangs'."),
        (["--answer", "couplet 1=plus"], "No question of this guide is called 'couplet 1'."),
        (["--image", "no-such-file.png"], "no-such-file.png"),
    ],
)
def test_refusals_are_one_sentence(flat_guide, options, why):
    check_refusal(["key", str(flat_guide.folder), *options], why)


@pytest.mark.parametrize(
    ("n", "why"),
    [
        (24, "There is nothing to ask about: this guide has no marks; build it again"),
        (8, "A key tells kinds apart, and this guide has fewer than two."),
    ],
)
def test_why_there_is_no_walk(blobs, tmp_path, n, why):
    images, kinds = blobs
    collection = Collection.from_arrays(images[:n], kinds[:n])
    Guide.build(
        collection,
        tmp_path / "guide",
        features="color",
        marks=False,
        places=False,
        key="ova",
        n_jobs=1,
    )
    check_refusal(["key", str(tmp_path / "guide")], why)


def test_questions_are_found_by_number_text_and_part(guide):
    questions = read_questions(guide)
    texts = [each.text for each in questions.questions]
    for j, text in enumerate(texts):
        assert find_question(questions, str(j + 1)) == j
        assert find_question(questions, text.upper()) == j
    with pytest.raises(FieldguideError, match="No question"):
        find_question(questions, str(len(texts) + 1))
    with pytest.raises(FieldguideError, match="No question"):
        find_question(questions, "")
