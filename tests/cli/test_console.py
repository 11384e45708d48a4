"""What is printed: on every encoding, with names that hold anything, never a control character."""

import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from rich.text import Text
from typer.testing import CliRunner

from fieldguide import cli
from fieldguide.collection import Collection
from fieldguide.errors import FieldguideWarning
from fieldguide.guide import Guide
from fieldguide.terminal import console
from fieldguide.terminal.arguments import say_warning
from fieldguide.terminal.console import printable, say_json, say_rich
from fieldguide.terminal.reporter import Reporter
from tests.cli.commands import load_cases
from tests.cli.terminals import run_on_terminal
from tests.cli.test_targets import WRITERS

UNFIT = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
TITLE = "T\x1b[31mit\x1b]0;owned\x07le\n\u202e2"
KINDS = {
    "disc": "di\x1b]52;c;aGk=\x07sc\x1b[2J",
    "stripe": "str\nipe\x9b31m\x7f",
    "square": "squ\u202eare\r\u2066 é−›",
}
PICTURE = "p\x1b]0;owned\x07q\n\x9b2J\u202e.png"
ENCODINGS = ("ascii", "cp1252", "latin-1", "utf-8")


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def run_main(monkeypatch):
    """Return a function that runs the command line on streams of an encoding."""

    def run(*arguments, encoding="utf-8", is_terminal=True):
        streams = {}
        for name in ("stdout", "stderr"):
            raw = Terminal() if is_terminal else io.BytesIO()
            streams[name] = io.TextIOWrapper(raw, encoding, errors="strict", newline="")
            monkeypatch.setattr(sys, name, streams[name])
        monkeypatch.setattr(sys, "argv", ["fieldguide", *map(str, arguments)])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer puts its own there
        # No colours and no moves of the cursor: what is left of either came from a name.
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as left:
            cli.main()
        told = [stream.buffer.getvalue().decode(encoding) for stream in streams.values()]
        return int(left.value.code or 0), *told

    return run


@pytest.fixture(scope="module")
def odd_guide(blobs, tmp_path_factory) -> Guide:
    """A guide with everything to print, whose title and kinds are hostile to terminals."""
    images, kinds = blobs[0][::2], blobs[1][::2]
    out = tmp_path_factory.mktemp("odd") / "gu\x1b[31mide\x7f"
    return Guide.build(
        *(Collection.from_arrays(images, [KINDS[k] for k in kinds], name="odd"), out),
        title=TITLE,
        features="words+color",
        key="relaxed",
        n_jobs=1,
    )


@pytest.fixture(scope="module")
def odd_picture(blobs, tmp_path_factory):
    path = tmp_path_factory.mktemp("odd-picture") / PICTURE
    Image.fromarray(blobs[0][0]).save(path)
    return path


@pytest.fixture(scope="module")
def raw_picture(blobs, tmp_path_factory):
    """A picture whose name is not UTF-8."""
    path = tmp_path_factory.mktemp("raw-picture") / os.fsdecode(b"caf\xe9.png")
    try:
        Image.fromarray(blobs[0][0]).save(path)
    except OSError:
        pytest.skip("this file system has UTF-8 names alone")
    return path


@given(st.text(st.characters(exclude_categories=())))
@example("\x00\t\n\x1b\x7f\x80\x9f\u2028\u202a\u202e\u2066\u2069\ud800\udfff")
def test_printable_keeps_length_and_leaves_no_control(text):
    shown = printable(text)
    assert len(shown) == len(text)
    assert UNFIT.search(shown) is None
    assert "\n" not in shown
    assert printable(shown) == shown
    kept = [(a, b) for a, b in zip(text, shown, strict=True) if not UNFIT.match(a) and a != "\n"]
    assert all(a == b for a, b in kept)


def test_printable_shows_which_control_it_was():
    assert printable("a\x1b[31m\nb\x7f\x9b\u202e\udce9é−") == "a␛[31m␊b␡\ufffd\ufffd\ufffdé−"


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("ascii", '- > -> x ... - "q" * o # e o 1/2 ? ?'),
        ("latin-1", '- > -> × ... - "q" * o # é o ½ ? ?'),
        ("cp1252", "- › -> × … — “q” * o # é o ½ ? ?"),
        ("utf-8", "− › → × … — “q” ● ○ █ é ő ½ 線 ?"),
    ],
)
def test_what_an_encoding_lacks_is_written_plainly(monkeypatch, encoding, written):
    stream = io.TextIOWrapper(io.BytesIO(), encoding, errors="strict")
    monkeypatch.setattr(sys, "stdout", stream)
    console.prepare_streams()
    stream.write("− › → × … — “q” ● ○ █ é ő ½ 線 \udce9")
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding) == written


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["robin", "é − › 線", "\udce9", "\x9b", "\x7f", "\u202e", "\x1b["])
def test_json_loses_nothing(monkeypatch, encoding, name):
    stream = io.TextIOWrapper(io.BytesIO(), encoding, errors="strict", newline="")
    monkeypatch.setattr(sys, "stdout", stream)
    say_json({"name": name, name: [1]})
    told = stream.buffer.getvalue().decode(encoding)
    assert json.loads(told) == {"name": name, name: [1]}
    assert UNFIT.search(told) is None
    if encoding == "utf-8" and name.startswith("é"):
        assert name in told


def test_styled_lines_keep_their_styles(monkeypatch):
    from rich.console import Console

    line = Text("a\x1b[2Jb", no_wrap=True)
    line.stylize("bold", 5, 6)
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    say_rich(console, [line])
    assert line.plain == "a␛[2Jb"
    assert [(span.start, span.end) for span in line.spans] == [(5, 6)]


def commands(guide, picture, tmp_path):
    """Every command, with hostile words wherever it takes some."""
    kind, odd = KINDS["stripe"], "od\x1b[31md\x07\n\u202e"
    folder = guide.folder
    yield from (
        ("--help",),
        ("plot", "--help"),
        ("build", tmp_path / odd, "--out", tmp_path / "x"),
        ("add", folder, tmp_path / odd),
        ("add", folder, picture.parent, "--kinds", odd),
        ("describe", folder),
        ("describe", folder, "--depth", 1),
        ("describe", folder, "--branch", 1),
        ("describe", folder, "--branch", odd),
        ("describe", folder, "--json"),
        ("describe", folder, "--beside", folder, "--out", tmp_path / f"{odd}.html"),
        ("describe", folder, "--beside", folder, "--json"),
        ("describe", folder, "--words", "--plate", tmp_path / f"{odd}.png"),
        ("describe", folder, "--words", "--json"),
        ("describe", tmp_path / odd),
        ("describe", tmp_path / odd, "--debug"),
        ("compare", folder, kind, KINDS["disc"], "--out", tmp_path / f"pair {odd}.html"),
        ("compare", folder, kind, KINDS["disc"], "--json"),
        ("compare", folder, kind, odd),
        ("compare", folder, kind, kind),
        ("find", folder, kind),
        ("find", folder, f"{odd}, not {kind}", "--json"),
        ("find", folder, odd),
        ("find", folder, f"not {odd}", "--limit", 2),
        ("identify", folder, picture),
        ("identify", folder, picture, "--json"),
        ("identify", folder, tmp_path / odd),
        ("plot", folder, "key", "--beside", folder, "--out", tmp_path / f"{odd}.svg"),
        ("plot", folder, odd),
        ("export", folder, tmp_path / f"site {odd}"),
        ("serve", folder, "--host", "od\x1b[31md\x07\n", "--port", 0),
        (odd,),
        ("describe", folder, odd),
        ("describe", folder, f"--{odd}"),
        ("describe", folder, "--depth", odd),
    )
    for chapter in load_cases():
        yield from chapter.list_hostile_commands(folder, picture, kind, odd, tmp_path)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("is_terminal", [True, False])
def test_every_command_on_every_encoding(
    odd_guide, odd_picture, tmp_path, run_main, encoding, is_terminal
):
    for arguments in commands(odd_guide, odd_picture, tmp_path):
        code, told, complained = run_main(*arguments, encoding=encoding, is_terminal=is_terminal)
        if arguments[0] == "find" and not is_terminal and "--json" not in arguments:
            assert {line.count("\t") for line in told.splitlines()} <= {2}, arguments
            told = told.replace("\t", " ")  # between its cells, and nowhere else
        assert UNFIT.search(told + complained) is None, arguments
        if "--debug" in arguments:
            assert "Traceback" in complained
            continue
        assert code in (0, 2), (arguments, complained)
        assert "Traceback" not in complained, arguments
        if code == 2 and complained.startswith("fieldguide: "):
            assert complained.count("\n") == 1
        if "--json" in arguments:
            # Of a guide in which nothing needs a look, check has an empty list.
            assert json.loads(told) or arguments[0] == "check"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_build_lists_skipped_files(blobs, tmp_path, run_main, is_terminal):
    folder = tmp_path / "ph\x1b[31motos"
    for kind, image in zip(KINDS.values(), blobs[0][::8], strict=True):
        (folder / kind).mkdir(parents=True)
        Image.fromarray(image).save(folder / kind / "f\x1b[2J\n.png")
    (folder / "bad\x1b[31m\n−.jpg").write_bytes(b"no")
    code, told, complained = run_main(
        *("build", folder, "--out", tmp_path / "gu\x1b[31mide", "--no-marks", "--no-places"),
        *("--features", "color", "--title", TITLE, "--timings"),
        encoding="ascii",
        is_terminal=is_terminal,
    )
    assert code == 0, complained
    assert UNFIT.search(told) is None
    assert re.search(r"\n  [a-z ]+  \d+\.\d s, \d+ %\n", told)  # --timings
    assert "\n  bad?[31m?-.jpg: not an image" in told
    assert told.endswith("gu?[31mide\n")
    # On a terminal there are the moves of the bar; none of them sets a colour or a title.
    assert "\x1b[31m" not in complained
    assert is_terminal or UNFIT.search(complained) is None


def test_names_are_shown_and_not_dropped(odd_guide, odd_picture, run_main):
    _, told, _ = run_main("identify", odd_guide.folder, odd_picture)
    assert told.splitlines()[0].endswith("/p␛]0;owned␇q␊\ufffd2J\ufffd.png")
    assert told.splitlines()[1].startswith("  di␛]52;c;aGk=␇sc␛[2J (")
    _, told, _ = run_main("describe", odd_guide.folder)
    assert told.startswith("T␛[31mit␛]0;owned␇le␊\ufffd2 ")
    _, told, _ = run_main("identify", odd_guide.folder, odd_picture, "--json")
    (answer,) = json.loads(told)
    assert answer["image"] == str(odd_picture)
    assert answer["answer"]["kinds"][0]["name"] == KINDS["disc"]


def test_a_name_that_is_not_utf8(odd_guide, raw_picture, tmp_path, run_main):
    folder = odd_guide.folder
    code, told, _ = run_main("identify", folder, raw_picture)
    assert code == 0
    assert told.splitlines()[0].endswith("/caf\ufffd.png")
    for command in ("identify", *(name for chapter in load_cases() for name in chapter.READERS)):
        code, told, _ = run_main(command, folder, raw_picture, "--json")
        assert code == 0
        assert os.fsencode(json.loads(told)[0]["image"]) == os.fsencode(raw_picture)
    for words in WRITERS.values():
        raw = tmp_path / os.fsdecode(b"\xff")
        named = {"GUIDE": folder, **KINDS}
        code, told, _ = run_main(*(named.get(word, word) for word in words), raw)
        assert code == 0
        assert told.endswith("/\ufffd\n")
        assert raw.stat().st_size
        raw.unlink()
    guide = tmp_path / os.fsdecode(b"g\xe9")
    code, _, complained = run_main("describe", guide)
    assert (code, complained.count("\n")) == (2, 1)
    shutil.copytree(folder, guide)
    code, told, complained = run_main("describe", guide)
    assert told if code == 0 else (code, complained.count("\n")) == (2, 1)
    raw_picture.with_name(os.fsdecode(b"\xe9.png")).write_bytes(b"no")
    code, _, complained = run_main("identify", folder, raw_picture.with_name("\udce9.png"))
    assert (code, complained.count("\n")) == (2, 1)


def test_the_way_through_a_key_in_ascii(odd_guide, odd_picture, run_main):
    _, fine, _ = run_main("identify", odd_guide.folder, odd_picture)
    _, plain, _ = run_main("identify", odd_guide.folder, odd_picture, encoding="ascii")
    assert re.search(r"^    [12] − like ", fine, re.MULTILINE)
    for character, written in (("−", "-"), ("›", ">"), ("é", "e")):
        fine = fine.replace(character, written)
    assert plain == re.sub("[␀-␡\ufffd]", "?", fine)


@pytest.mark.parametrize("environment", [
    {"PYTHONIOENCODING": "ascii:strict"},
    {"PYTHONIOENCODING": "cp1252:strict"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
])  # fmt: skip
def test_on_a_real_terminal(odd_guide, odd_picture, environment):
    clean = {
        name: value
        for name, value in os.environ.items()
        if name == "PYTHONPATH" or not name.startswith(("LC_", "LANG", "PYTHON"))
    }
    clean |= {"NO_COLOR": "1", "TERM": "dumb", **environment}
    for arguments, expected in (
        (("describe", odd_guide.folder), "str ipe?31m?"),
        (("identify", odd_guide.folder, odd_picture), "\n    1 - like "),
    ):
        command = [sys.executable, "-m", "fieldguide", *map(str, arguments)]
        code, told = run_on_terminal(command, clean)
        assert code == 0, told
        text = told.decode("cp1252").replace("\r\n", "\n")
        assert UNFIT.search(text) is None
        assert expected in text


def test_progress_on_a_terminal_of_ascii(monkeypatch):
    stream = io.TextIOWrapper(Terminal(), "ascii", errors="strict", newline="")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    console.prepare_streams()
    with Reporter() as report:
        for done in range(3):
            report("re\x1b[31mad − images", done, 3)
    told = stream.buffer.getvalue().decode("ascii")
    assert "re?[31mad - images" in told
    assert "\x1b[31m" not in told


def test_progress_in_a_log(capsys):
    with Reporter() as report:
        report("re\x1b[31mading\nimages", 0, 3)
    assert capsys.readouterr().err == "re␛[31mading␊images: 0 of 3\n"


def test_usage_errors_show_words_safely():
    # Whatever the version of typer escapes by itself, the rest is ours.
    result = CliRunner().invoke(cli.app, ["describe", "g", "x\u202e\x1b[31m\x9b\u2066y"])
    assert result.exit_code == 2
    assert UNFIT.search(result.stderr) is None
    assert "\ufffd" in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("is_buffered", [True, False])
def test_a_full_disk_under_the_output(small_guide, is_buffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if is_buffered else "1"}
    for arguments in (("describe", str(small_guide.folder)), ("--help",)):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [sys.executable, "-m", "fieldguide", *arguments],
                stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False,
            )  # fmt: skip
        assert result.returncode == 2
        assert result.stderr == (
            "fieldguide: There is no room left on the disk; free some and run the same command "
            "again.\n"
        )


@pytest.mark.parametrize("closed", [1, 2])
def test_streams_that_the_shell_has_closed(small_guide, closed):
    for folder, code in ((small_guide.folder, 0), ("nowhere", 2)):
        result = subprocess.run(
            [sys.executable, "-m", "fieldguide", "describe", str(folder)],
            capture_output=True, check=False, preexec_fn=lambda: os.close(closed),
        )  # fmt: skip
        assert result.returncode == code
        assert b"Traceback" not in result.stdout + result.stderr


def test_a_reader_that_goes_away(small_guide):
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        [sys.executable, "-m", "fieldguide", "describe", str(small_guide.folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    ) as told:  # fmt: skip
        assert told.stdout is not None
        assert told.stderr is not None
        told.stdout.close()
        complained = told.stderr.read()
    assert told.returncode == 1
    assert complained == b""


def test_a_warning_of_ours_is_one_line(capsys):
    say_warning(FieldguideWarning("max_cost=0.1 cannot be met."), FieldguideWarning, "a.py", 7)
    assert capsys.readouterr().err == "fieldguide: max_cost=0.1 cannot be met.\n"
    say_warning(UserWarning("odd"), UserWarning, "a.py", 7)
    assert "a.py:7: UserWarning: odd" in capsys.readouterr().err
