import functools
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient
from typer.testing import CliRunner

from fieldguide.chapters import OPTIONAL
from fieldguide.cli import app
from fieldguide.site import create_app
from tests.cli.commands import FIELDGUIDE, call, check_refusal, list_commands, run
from tests.cli.terminals import run_on_terminal
from tests.hostile import write_hostile_folder


@pytest.fixture(scope="module")
def folder(blobs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("photos") / "shapes"
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        (root / kind).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / kind / f"{i:02d}.png")
    return root


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys; from fieldguide import cli; "
        "heavy = ('numpy', 'sklearn', 'onnxruntime', 'numba', 'PIL'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    result = run("--help")
    assert result.returncode == 0
    assert {"demo", "build", "describe", "identify", "plot", "serve", "export"} <= {
        *list_commands()
    }
    for command in list_commands():
        assert command in result.stdout
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0


def test_build_describe_identify_export(folder, tmp_path):
    guide = tmp_path / "guide"
    built = run("build", folder, "--out", guide)
    assert built.returncode == 0, built.stderr
    assert "24 specimens of 3 kinds" in built.stdout
    assert "held-out" in built.stdout
    assert "reading images: 24 of 24" in built.stderr

    told = call("describe", guide)
    assert told.stdout.startswith("shapes (24)\n  ")
    tree = json.loads(call("describe", guide, "--json").stdout)
    assert tree["count"] == 24
    assert sum(tree["kinds"].values()) == 24

    image = folder / "disc" / "00.png"
    named = call("identify", guide, image)
    assert named.stdout.splitlines()[1].startswith("  disc (")
    (told,) = json.loads(call("identify", guide, image, "--json").stdout)
    assert told.keys() == {"image", "answer"}
    assert told["image"] == str(image)
    assert told["answer"]["kinds"][0]["name"] == "disc"
    assert told["answer"]["neighbours"][0] == {"id": 0, "path": "disc/00.png", "kind": "disc"}

    exported = call("export", guide, tmp_path / "site")
    assert exported.exit_code == 0, exported.stderr
    assert (tmp_path / "site" / "index.html").exists()
    again = call("build", folder, "--out", guide, "--json")
    assert json.loads(again.stdout)["n_specimens"] == 24
    assert again.stderr == ""


def test_add_says_what_became_of_the_key(folder, blobs, tmp_path):
    out, more = tmp_path / "guide", tmp_path / "more"
    for i, image in enumerate(blobs[0][:8]):
        (more / "negative").mkdir(parents=True, exist_ok=True)
        Image.fromarray(255 - image).save(more / "negative" / f"{i}.png")
    options = ("--features", "deep", "--no-marks", "--no-places", "--jobs", 1)
    assert call("build", folder, "--out", out, "--key", "attention", *options).exit_code == 0
    check_refusal(["add", str(out), str(tmp_path / "none")], "There is no folder")
    check_refusal(["add", str(tmp_path / "none"), str(more)], "There is no guide")
    added = call("add", out, more, "--jobs", 1)
    assert added.exit_code == 0, added.stderr
    first = added.stdout.splitlines()[0]
    assert re.fullmatch(
        r"The key learnt a new kind without being trained again \(\d+\.\d s\)\.", first
    )
    assert "32 specimens of 4 kinds" in added.stdout
    assert call("build", folder, "--out", out, "--key", "ova", *options).exit_code == 0
    added = call("add", out, more / "negative", "--jobs", 1, "--json")
    assert "OneVsAllClassifier cannot learn" in json.loads(added.stdout)["growth"]["because"]


def test_the_command_the_server_and_python_give_the_same_answer(small_guide, folder):
    image = folder / "disc" / "00.png"
    (told,) = json.loads(run("identify", small_guide.folder, image, "--json").stdout)
    client = TestClient(create_app(small_guide), base_url="http://localhost")
    sent = client.post("/api/identify", files={"image": image.read_bytes()}).json()
    said = small_guide.identify([image])[0].to_plain()
    assert told["answer"] == sent == said
    assert list(told["answer"]) == list(sent) == list(said)
    assert all(said[name] is not None for name in OPTIONAL)


def test_describe_a_part_of_the_tree(small_guide):
    first = small_guide.branches[1]
    for name in (first.words[0], "1", "branch/1.html", small_guide.sentence(1).upper()):
        told = call("describe", small_guide.folder, "--branch", name, "--depth", 0)
        assert told.stdout == f"{', '.join(first.words)} ({first.count})\n"
    tree = json.loads(
        call("describe", small_guide.folder, "--branch", 1, "--depth", 0, "--json").stdout
    )
    assert (tree["branch"], tree["branches"], tree["n_direct"]) == (1, [], first.n_direct)
    wrong = call("describe", small_guide.folder, "--branch", f"{first.words[0]}s")
    assert wrong.exit_code == 2
    assert wrong.stderr.count("\n") == 1
    assert f"There is '{first.words[0]}'" in wrong.stderr


def test_find_by_words_kinds_and_files(small_guide):
    (kind, *_), (word, n, _) = small_guide.kinds, max(small_guide.words, key=lambda each: each[1])
    told = call("find", small_guide.folder, f"{kind.name}s", "--limit", 3)
    assert told.exit_code == 0, told.stderr
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    assert len(rows) == 3
    assert {row[1] for row in rows} == {kind.name}
    assert told.stderr.startswith(f"fieldguide: {kind.name}s → ")
    found = json.loads(call("find", small_guide.folder, word, "--json").stdout)
    assert found["total"] == n
    assert found["terms"][0]["words"] == [word]
    assert [find["id"] for find in found["finds"]] == small_guide.members(word=word)[:20].tolist()
    path = small_guide.specimen(7).path
    file = call("find", small_guide.folder, "file:" + path.rsplit("/", 1)[-1])
    assert file.stdout.split("\t")[0] == path
    without = json.loads(call("find", small_guide.folder, f"-{kind.name}", "--json").stdout)
    assert without["total"] == small_guide.n_specimens - kind.count


def test_find_says_when_nothing_fits(small_guide):
    listed = call("find", small_guide.folder, "zzqq", "--json")
    assert listed.exit_code == 2
    assert json.loads(listed.stdout)["total"] == 0
    told = call("find", small_guide.folder, "zzqq")
    assert told.exit_code == 2
    assert told.stdout == ""
    assert "no word, kind or file is like “zzqq”; there is " in told.stderr
    assert told.stderr.count("\n") == 1
    check_refusal(["find", str(small_guide.folder), " , "], "Say what to find")
    check_refusal(["find", str(small_guide.folder), "x" * 600], "may have 500 letters")


def test_find_on_a_terminal(small_guide):
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    kind = small_guide.kinds[0]
    command = [*FIELDGUIDE, "find", str(small_guide.folder), kind.name, "--limit", "2"]
    code, told = run_on_terminal(command, environment, 60)
    assert code == 0, told
    lines = told.decode().replace("\r", "").splitlines()
    assert lines[0] == f"{kind.count} specimens for {kind.name}."
    assert f"{kind.count - 2} more" in lines[-1]
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("width", [40, 100])
def test_describe_on_a_terminal_of_any_width(small_guide, width):
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    command = [*FIELDGUIDE, "describe", str(small_guide.folder)]
    code, told = run_on_terminal(command, environment, width)
    assert code == 0, told
    lines = re.sub(r"\x1b\[[0-9;]*m", "", told.decode()).replace("\r", "").splitlines()
    assert len(lines) == len(small_guide.branches)
    assert max(map(len, lines)) <= width
    assert any("●" in line for line in lines)
    assert ("disc" in lines[0]) == (width > 80)


def test_visual_words_are_listed_and_drawn(worded_guide, tmp_path):
    plate = tmp_path / "words.png"
    told = call("describe", worded_guide.folder, "--words", "--plate", plate)
    assert told.exit_code == 0, told.stderr
    lines = told.stdout.splitlines()
    assert len(lines) == 1 + len(worded_guide.visual_words)
    assert lines[0].startswith("word ")
    assert "1 window in" in lines[0]
    with Image.open(plate) as image:
        assert min(image.size) > 400
    listed = json.loads(call("describe", worded_guide.folder, "--words", "--json").stdout)
    assert listed == [
        {"number": word.number, "share": round(word.share, 6), "kinds": dict(word.kinds)}
        for word in worded_guide.visual_words
    ]


def test_a_guide_without_visual_words_is_one_line(small_guide):
    told = call("describe", small_guide.folder, "--words")
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1
    assert "built without visual words" in told.stderr


@pytest.fixture(scope="module")
def keyed(folder, tmp_path_factory) -> Path:
    guide = tmp_path_factory.mktemp("keyed") / "guide"
    built = call("build", folder, "--out", guide, "--key", "relaxed", "--no-marks", "--no-places",
                "--features", "deep")  # fmt: skip
    assert built.exit_code == 0, built.stderr
    return guide


def test_two_trees_side_by_side(folder, keyed, tmp_path):
    other, page = tmp_path / "other", tmp_path / "moved.html"
    built = call("build", folder, "--out", other, "--tree", "attribute", "--features", "color",
                "--no-marks", "--no-places")  # fmt: skip
    assert built.exit_code == 0, built.stderr
    told = call("describe", keyed, "--beside", other, "--out", page)
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith("The trees have 24 specimens in common.")
    assert told.stdout.endswith(f"The page is in {page}\n")
    assert "Attribute Tree Process" in page.read_text(encoding="utf-8")
    found = json.loads(call("describe", keyed, "--beside", other, "--json").stdout)
    assert found["shared"] == 24
    assert found["moved"] == sum(len(move["specimens"]) for move in found["moves"])
    assert found["pairs"][0]["in_both"] == 24
    for arguments, message in (
        (("--out", page), "goes with --beside"),
        (("--beside", tmp_path), "is not a guide"),
        (("--beside", other, "--out", tmp_path), "is a folder"),
    ):
        result = call("describe", keyed, *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_plot_draws_the_key(keyed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = call("plot", keyed, "key")
    assert drawn.exit_code == 0, drawn.stderr
    assert drawn.stdout == "The drawing is in key.svg\n"
    assert [path.name for path in tmp_path.iterdir()] == ["key.svg"]
    root = ET.parse(tmp_path / "key.svg").getroot()
    assert {"disc", "stripe", "square"} <= {"".join(node.itertext()) for node in root.iter()}
    out = tmp_path / "two.svg"
    both = call("plot", keyed, "key", "--out", out, "--levels", 1, "--beside", keyed)
    assert both.exit_code == 0, both.stderr
    assert both.stdout.startswith("Of 3 pairs of kinds, the first couplets of the two keys treat")
    assert "100% alike" in out.read_text(encoding="utf-8")


def test_plot_says_what_is_wrong(keyed, flat_guide, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        ((flat_guide.folder, "key"), "--key relaxed"),
        ((keyed, "key", "--out", tmp_path), "is a folder"),
        ((keyed, "key", "--levels", 0), "levels of plot_key must be"),
        ((keyed, "key", "--beside", tmp_path), "is not a guide"),
    ):
        result = call("plot", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_identify_prints_the_way_through_the_key(keyed, folder):
    image = folder / "disc" / "00.png"
    lines = call("identify", keyed, image).stdout.splitlines()
    assert lines[1].startswith("  disc (")
    start = lines.index("  by the key:")
    assert lines[start + 1].startswith(("    1 − like ", "    1 + like "))
    assert lines[-1].startswith("    The likelier sides lead to ")
    path = json.loads(call("identify", keyed, image, "--json").stdout)[0]["answer"]["path"]
    assert len(path["steps"]) == len(lines) - start - 2
    first = path["steps"][0]
    assert {*first["minus"], *first["both"], *first["plus"]} == {"disc", "stripe", "square"}
    assert first["side"] == ("plus" if first["margin"] > 0 else "minus")
    assert path["one_vs_all"] == 3


def test_one_bad_image_does_not_stop_the_others(small_guide, folder, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no")
    result = call("identify", small_guide.folder, bad, folder / "disc" / "00.png")
    assert result.exit_code == 2
    assert "disc (" in result.stdout
    assert result.stderr.count("\n") == 1
    result = call("identify", small_guide.folder, bad, folder / "disc" / "00.png", "--json")
    assert "error" in json.loads(result.stdout)[0]
    assert "kinds" in json.loads(result.stdout)[1]["answer"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "nowhere", "--out", "g"], "There is no folder 'nowhere'"),
        (["build", ".", "--out", "g"], "would be written into the folder of images"),
        (["build", "empty", "--out", "g"], "There is no image in 'empty'"),
        (["build", "empty", "--out", "g", "--kinds", "x"], "kinds of Collection"),
        (["build", "empty", "--out", "g", "--features", "sift"], "features must be one or more of"),
        (["build", "empty", "--out", "g", "--tree", "oak"], "tree of a guide must be one of"),
        (["build", "empty", "--out", "g", "--sidecar", "no.csv"], "cannot be opened"),
        (["describe", "nowhere"], "There is no guide 'nowhere'"),
        (["describe", "empty"], "is not a guide"),
        (["serve", "empty"], "is not a guide"),
        (["export", "empty", "site"], "is not a guide"),
        (["identify", "empty", "a.jpg"], "is not a guide"),
        (["plot", "empty", "key"], "is not a guide"),
        (["plot", "empty", "tree"], "NAME of fieldguide plot must be one of 'key'; got 'tree'"),
    ],
)
def test_errors_are_one_line_and_code_2(tmp_path, monkeypatch, arguments, message):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    check_refusal(arguments, message)


def test_a_hostile_folder_makes_a_guide_of_the_good_ones(tmp_path):
    good, bad = write_hostile_folder(tmp_path / "hostile")
    assert len(bad) >= 20
    result = run(
        "build",
        tmp_path / "hostile",
        "--out",
        tmp_path / "guide",
        "--no-marks",
        "--no-places",
        "--features",
        "deep",
    )
    assert result.returncode == 0, result.stderr
    assert "Warning" not in result.stderr
    from fieldguide.guide import Guide

    guide = Guide.open(tmp_path / "guide")
    assert {s.path for s in guide.specimens(range(guide.n_specimens))} == good
    others = {"page.html", "paper.pdf", "sound.wav"}
    assert {file.path for file in guide.unreadable} == bad - others
    assert guide.about["other_files"] == {".html": 1, ".pdf": 1, ".wav": 1}
    counted = "3 files that are no pictures: .html (1), .pdf (1), .wav (1)"
    assert f"{counted}." in result.stdout.splitlines()
    assert all(file.reason for file in guide.unreadable)
    exported = call("export", tmp_path / "guide", tmp_path / "site")
    assert exported.exit_code == 0, exported.stderr
    assert counted in (tmp_path / "site" / "about.html").read_text(encoding="utf-8")


def test_kinds_are_written_as_people_do_and_found_either_way(blobs, tmp_path):
    folder, guide = tmp_path / "shapes", tmp_path / "guide"
    names = {"disc": "007.Grey_disc", "stripe": "008.Stripe", "square": "009.Square"}
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        path = folder / names[kind] / str(2019 + i % 2) / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    built = call("build", folder, "--out", guide, "--jobs", 1, "--features", "deep")
    assert built.exit_code == 0, built.stderr
    assert "24 specimens of 3 kinds" in built.stdout
    assert "Not kinds: dates (2019, 2020). Choose otherwise with --kinds parent" in built.stdout
    image = folder / names["disc"] / "2019" / "00.png"
    assert call("identify", guide, image).stdout.splitlines()[1].startswith("  Grey disc (")
    (told,) = json.loads(call("identify", guide, image, "--json").stdout)
    assert told["answer"]["kinds"][0]["name"] == "007.Grey_disc"
    tree = json.loads(call("describe", guide, "--json").stdout)
    assert set(tree["kinds"]) == set(names.values())
    forms = ("007.Grey_disc", "Grey disc", "grey_disc", "007.grey disc")
    marks = [call("marks", guide, form).stdout for form in forms]
    assert marks[0].startswith("Grey disc")
    assert marks == [marks[0]] * 4
    assert json.loads(call("marks", guide, "grey disc", "--json").stdout)["kind"] == forms[0]
    wrong = call("marks", guide, "Stripes")
    assert wrong.exit_code == 2
    assert "There is 'Stripe'" in wrong.stderr


def test_ctrl_c_leaves_a_state_that_goes_on(blobs, tmp_path):
    # As many as leave time to interrupt, on a busy machine too.
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(120):
        Image.fromarray(blobs[0][i % len(blobs[0])]).save(folder / f"{i:03d}.png")
    command = [*FIELDGUIDE, "build", str(folder), "--out", str(tmp_path / "guide"), "--jobs", "1"]
    # Tests that run in the background of a shell would hand on that Ctrl-C is ignored.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed) as build:
        assert build.stderr is not None
        for line in build.stderr:
            if line.startswith("reading images: ") and not line.startswith("reading images: 0 "):
                build.send_signal(signal.SIGINT)
                break
        rest = build.stderr.read()
    assert build.returncode == 130
    assert "goes on where it stopped" in rest
    assert "Traceback" not in rest
    again = run("build", folder, "--out", tmp_path / "guide", "--features", "deep", "--no-marks",
                "--no-places", "--tree", "agglomerative")  # fmt: skip
    assert again.returncode == 0
    assert "reading images: 0 of 120" not in again.stderr


def test_serve_answers_with_pictures(small_guide):
    command = [*FIELDGUIDE, "serve", str(small_guide.folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[4]
            with urllib.request.urlopen(address, timeout=20) as page:
                assert "shapes" in page.read().decode()
            picture = address + small_guide.specimen(0).thumbnail
            with urllib.request.urlopen(picture, timeout=20) as answer:
                assert answer.read()[:2] == b"\xff\xd8"
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0


@pytest.mark.slow
def test_demo_twice(tmp_path):
    first = run("demo", "--out", tmp_path / "demo")
    assert first.returncode == 0, first.stderr
    built = os.stat(tmp_path / "demo" / "guide.json")
    assert run("demo", "--out", tmp_path / "demo").returncode == 0
    assert os.stat(tmp_path / "demo" / "guide.json").st_mtime_ns == built.st_mtime_ns
