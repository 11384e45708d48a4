"""The command line: the only part of the package that prints, by way of ``_console``.

Heavy packages are imported inside the commands, so that ``--help`` is quick.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fieldguide._console import (
    complain,
    drop_unsaid,
    prepare_streams,
    printable,
    say,
    say_json,
    say_rich,
)
from fieldguide._files import is_disk_full
from fieldguide._reporter import Reporter
from fieldguide._targets import (
    PLATE_SOFTWARE,
    check_target,
    is_comparison,
    is_drawing,
    is_found_boxes,
    is_plate,
)
from fieldguide.errors import FieldguideError

if TYPE_CHECKING:
    from fieldguide.collection import Collection
    from fieldguide.guide import Guide
    from fieldguide.guide.found_boxes import Found


@contextmanager
def _printable_usage() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        usage: Any = error
        if hasattr(usage, "format_message"):  # an error of click, or of typer's copy of it
            usage.message = printable(str(usage.message))
        raise


class _Commands(TyperGroup):
    """The commands; errors of usage repeat the user's words, which may hold anything."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _printable_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _printable_usage():
            return super().invoke(ctx)


app = typer.Typer(
    name="fieldguide",
    cls=_Commands,
    help="Turn many images into a field guide: a tree in words, a key, and a page to browse.\n\n"
    "Start with [bold]fieldguide demo[/bold], then "
    "[bold]fieldguide build FOLDER --out GUIDE[/bold] and [bold]fieldguide serve GUIDE[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)

GuideFolder = Annotated[
    Path, typer.Argument(metavar="GUIDE", help="A guide made by 'fieldguide build'.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for a program to read.")]
Embedder = Annotated[
    Path | None,
    typer.Option(help="An ONNX file in place of the built-in network.", show_default=False),
]
Port = Annotated[
    int | None,
    typer.Option(help="Port to listen on; by default the first free one from 8000."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def main() -> None:
    """Run the command line."""
    prepare_streams()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # at the end of Python, an error would no longer be ours to word
    except BrokenPipeError:
        drop_unsaid()
        sys.exit(1)
    except Exception as error:  # of a command with --debug, of the help, or of our own making
        sentence = None if "--debug" in sys.argv else _word_fault(error)
        if sentence is None:
            import traceback

            say(*traceback.format_exc().rstrip("\n").split("\n"), file=sys.stderr)
        else:
            complain(sentence)
        drop_unsaid()
        sys.exit(1 if sentence is None else 2)


def _one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Print an error as one line and leave with code 2, or 130 for Ctrl-C."""

    @functools.wraps(command)
    def wrapped(*args: Any, debug: bool = False, **kwargs: Any) -> None:
        try:
            command(*args, debug=debug, **kwargs)
        except KeyboardInterrupt:
            complain("Stopped. Run the same command again and it goes on where it stopped.")
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of our output went away, such as `| head`
            drop_unsaid()
            raise typer.Exit(1) from None
        except Exception as error:
            sentence = None if debug else _word_fault(error)
            if sentence is None:
                raise
            complain(sentence)
            drop_unsaid()
            raise typer.Exit(2) from None

    return wrapped


def _word_fault(error: Exception) -> str | None:
    """Say in one sentence what an everyday fault is; None for an error that we have made."""
    if isinstance(error, FieldguideError):
        return str(error)
    # By name: sqlite3 and safetensors are heavy, and loaded by now if the error is theirs.
    modules = [cls.__module__ for cls in type(error).__mro__]
    is_of_guide = any(name.startswith(("sqlite3", "safetensors")) for name in modules)
    if (is_of_guide or isinstance(error, OSError)) and is_disk_full(error):
        return "There is no room left on the disk; free some and run the same command again."
    if is_of_guide:
        return (
            f"A file of the guide cannot be read or written ({error}); if it happens again, build "
            "the guide anew. Add --debug to see where."
        )
    if isinstance(error, UnicodeError):
        where = str(error)
        if isinstance(error, UnicodeEncodeError | UnicodeDecodeError):
            where = f"near {error.object[max(error.start - 20, 0) : error.end + 20]!r}"
        return (
            f"A name or a text is not valid Unicode ({where}); rename or correct it. "
            "Add --debug to see where."
        )
    if isinstance(error, OSError | MemoryError):
        return f"{str(error) or 'There is not enough memory'}. Add --debug to see where."
    return None


@app.command()
@_one_line_errors
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the guide.")] = Path("fieldguide-demo"),
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Serve the page; by default when on a terminal."),
    ] = None,
    port: Port = None,
    debug: Debug = False,
) -> None:
    """Build the guide of the embedded collection, and show it.

    The collection is drawn by code: birds, fishes, beetles, leaves and more.
    The second time, the guide is there already and the page opens at once.
    """
    from fieldguide.guide.demo import build_demo, finished_demo

    guide = finished_demo(out)
    if guide is None:
        with Reporter() as report:
            guide = build_demo(out, report)
    _print_summary(guide)
    if serve if serve is not None else sys.stdout.isatty():
        _serve(guide, "127.0.0.1", port, open_browser=sys.stdout.isatty())


@app.command()
@_one_line_errors
def build(
    folder: Annotated[Path, typer.Argument(help="Folder of images, with sub-folders or without.")],
    out: Annotated[Path, typer.Option(help="Folder for the guide, outside the images' folder.")],
    title: Annotated[str | None, typer.Option(help="Shown on the page.")] = None,
    kinds: Annotated[
        str,
        typer.Option(
            help="Where an image's kind comes from: 'parent' (the folder that holds it), 'top' "
            "(the first folder below FOLDER) or 'none'."
        ),
    ] = "parent",
    sidecar: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with a column 'path', and optionally 'label', 'keywords' and columns "
            "of attributes.",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        str,
        typer.Option(
            help="What images are compared by: 'auto', or one or more of deep, words, hog, gist, "
            "texture, color joined by '+'. 'auto' is deep, unless that does poorly on a sample."
        ),
    ] = "auto",
    key: Annotated[
        str,
        typer.Option(
            help="How images are named: 'ova' (one-vs-all), 'ovo' (one-vs-one), or a tree: "
            "'attention', 'relaxed', 'cut', 'confusion' or 'dag'."
        ),
    ] = "ova",
    tree: Annotated[
        str,
        typer.Option(
            help="How the tree in words is grown: 'attribute' (Attribute Tree Process), "
            "'bernoulli' (FBLM) or 'agglomerative' (Ward clustering). 'auto' is attribute, unless "
            "there are too few specimens or words."
        ),
    ] = "auto",
    marks: Annotated[
        bool,
        typer.Option(help="Look for the field marks of each kind; a build without is quicker."),
    ] = True,
    embedder: Embedder = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is all cores.")] = -1,
    max_megapixels: Annotated[
        float, typer.Option(help="Larger pictures are listed as unreadable.")
    ] = 80,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Build the guide of a folder of images, or bring it up to date.

    Kinds come from the sub-folders. Files that cannot be read are listed and skipped.
    Nothing is written into FOLDER. A build that was stopped goes on where it stopped,
    and a second build reads only new and changed files.

    Example: fieldguide build photos --out photos-guide
    """
    from fieldguide.collection import Collection

    collection = Collection.from_folder(
        folder, kinds=kinds, sidecar=sidecar, max_pixels=round(max_megapixels * 1e6)
    )
    with Reporter(quiet=as_json) as report:
        guide = _build(
            *(collection, out, report),
            title=title,
            features=features,
            key=key,
            tree=tree,
            marks=marks,
            embedder=embedder,
            seed=seed,
            n_jobs=jobs,
        )
    if as_json:
        say_json({**guide.about, "guide": str(out), "summary": guide.summary})
        return
    _print_summary(guide)
    say(f"Look at it: fieldguide serve {out}")


@app.command()
@_one_line_errors
def describe(
    guide: GuideFolder,
    depth: Annotated[int | None, typer.Option(help="Levels to show.", show_default=False)] = None,
    branch: Annotated[
        str | None,
        typer.Option(
            help="Start at this branch: its number, or its words, such as 'animal > bird'.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="GUIDE",
            help="Another guide of the same images: print its tree beside, and which specimens "
            "moved.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="With --beside: write the comparison, with pictures, to this HTML file.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="List the visual words instead of the tree.")
    ] = False,
    plate: Annotated[
        Path | None,
        typer.Option(
            help="With --words: write a plate of them to this PNG file.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print the tree of a guide in words, two trees side by side, or the visual words.

    On a terminal, the dots say how sure the tree is of a branch: how many of its specimens
    return to it when they are put back by their words alone.

    Example: fieldguide describe photos-guide --branch animal --depth 2
    """
    from fieldguide.guide import Guide

    if out is not None and beside is None:
        raise FieldguideError("--out of fieldguide describe goes with --beside; give both.")
    if out is not None:
        check_target(out, "--out", is_comparison)
    if plate is not None:
        check_target(plate, "--plate", is_plate)
    opened = Guide.open(guide)
    if words or plate is not None:
        _describe_words(opened, plate, as_json)
        return
    if beside is not None:
        _describe_beside(opened, Guide.open(beside), out, as_json)
        return
    first = 0 if branch is None else opened.find_branch(branch)
    if as_json:
        from fieldguide.site.records import branch_record

        say_json(branch_record(opened, first, depth))
    elif sys.stdout.isatty():
        from fieldguide.site.terminal import tree_lines

        console, marks = _console()
        say_rich(console, tree_lines(opened, first, depth, console.width, marks))
    else:
        say(*opened.describe(first, max_depth=depth).split("\n"))


@app.command()
@_one_line_errors
def identify(
    guide: GuideFolder,
    images: Annotated[list[Path], typer.Argument(help="Image files to name.")],
    embedder: Embedder = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what each image is, what else it might be, and where it belongs in the tree."""
    from fieldguide.errors import UnreadableImageError
    from fieldguide.guide import Guide
    from fieldguide.site.answer_lines import answer_lines
    from fieldguide.site.marks import word_because
    from fieldguide.site.records import answer_record

    opened = Guide.open(guide)
    if embedder is not None:
        opened.use_embedder(embedder)
    n_failed = 0
    results: list[dict[str, Any]] = []
    for image in images:
        try:
            answer = opened.identify([image])[0]
        except UnreadableImageError as error:
            n_failed += 1
            results.append({"image": str(image), "error": str(error)})
            if not as_json:
                complain(str(error))
            continue
        seen = opened.find_marks(image, answer.kinds[0][0]) if answer.kinds else None
        because = "" if seen is None else word_because(seen)
        if as_json:
            record = answer_record(opened, answer)
            results.append({"image": str(image), **record, "because": because or None})
        else:
            say(str(image), *(f"  {line}" for line in answer_lines(opened, answer, because)))
    if as_json:
        say_json(results)
    if n_failed:
        raise typer.Exit(2)


@app.command()
@_one_line_errors
def marks(
    guide: GuideFolder,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Name of a kind of the guide.")],
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say what tells a kind from the others: its field marks.

    Words of the network in windows of its pictures, with their weight in the vote for the kind;
    visual words, and how many of them are enough. Their pictures are on the page of the kind.

    Example: fieldguide marks photos-guide heron
    """
    from fieldguide.guide import Guide
    from fieldguide.site.marks import marks_lines, marks_record

    opened = Guide.open(guide)
    found = opened.marks(kind)
    if found is None:
        why = "build it again, without --no-marks"
        if len(opened.kinds) < 2:
            why = "marks tell a kind from others, and it has one kind: add pictures of another"
        raise FieldguideError(f"This guide has no marks; {why}.")
    if as_json:
        say_json(marks_record(found))
        return
    console, fine = _console()
    say(*marks_lines(found, console.width, full="█" if fine[4] == "●" else "#"))


@app.command()
@_one_line_errors
def locate(
    guide: GuideFolder,
    images: Annotated[
        list[Path] | None,
        typer.Argument(help="Image files to look at; those of the guide by default."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Look for the marks of this kind; by default of the one it is named."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the boxes to this COCO JSON file.")
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            help="Boxes to compare with: a COCO JSON file, or a folder of VOC XML or YOLO files."
        ),
    ] = None,
    embedder: Embedder = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Say where in each image the marks of a kind are.

    Without IMAGES, it tells what the guide has found in the best examples of each kind.
    With --boxes, it prints the average precision at an overlap of .5 and .4, and CorLoc.

    Example: fieldguide locate photos-guide new/*.jpg --out found.json
    """
    from fieldguide.guide import Guide
    from fieldguide.guide.found_boxes import compare_boxes, read_boxes
    from fieldguide.site.phrases import count
    from fieldguide.site.places import word_located
    from fieldguide.site.records import located_record

    if out is not None:
        check_target(out, "--out", is_found_boxes)
    opened = Guide.open(guide)
    if embedder is not None:
        opened.use_embedder(embedder)
    truth = None if boxes is None else read_boxes(boxes)
    found, n_failed = _find_marks(opened, images or [], kind)
    if out is not None:
        _write_boxes(out, found)
    if as_json:
        say_json([{"image": f.path, **located_record(f.located)} for f in found])
    elif images:
        for each in found:
            say(f"{each.path}: {each.located.kind}, {word_located(each.located)}")
    if truth is not None:
        compared = compare_boxes(found, truth)
        figures = ", ".join(f"AP at {o:g}: {p:.3f}" for o, p in compared.average_precision.items())
        pictures = count(compared.n_pictures, "picture")
        line = f"{pictures} with boxes; {figures}, CorLoc {compared.corloc:.3f}"
        say(line, file=sys.stderr if as_json else sys.stdout)
    if out is not None and not as_json:
        say(f"The boxes of {count(len(found), 'picture')} are in {out}")
    elif not images and truth is None and not as_json:
        say(f"The guide has found marks in {count(len(found), 'picture')}; add --out found.json.")
    if n_failed:
        raise typer.Exit(2)


def _find_marks(guide: "Guide", images: list[Path], kind: str | None) -> tuple[list["Found"], int]:
    """Return what is found in images, or in the guide's own; and how many could not be read."""
    from fieldguide.collection import read_picture
    from fieldguide.errors import UnreadableImageError
    from fieldguide.guide.found_boxes import Found

    if not images:
        return [Found(s.path, (s.width, s.height), at) for s, at in guide.all_located(kind)], 0
    found, n_failed = [], 0
    for image in images:
        try:
            (located,) = guide.locate([image], kind)
            picture = read_picture(image)
            found.append(Found(str(image), (picture.width, picture.height), located))
        except UnreadableImageError as error:
            n_failed += 1
            complain(str(error))
    return found, n_failed


def _write_boxes(out: Path, found: list["Found"]) -> None:
    from fieldguide.datasets.boxes import write_coco_boxes

    write_coco_boxes(out, [f.to_objects() for f in found], scores=[f.scores for f in found])


@app.command()
@_one_line_errors
def plot(
    guide: GuideFolder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to draw: 'key'.")],
    out: Annotated[
        Path | None, typer.Option(help="SVG file to write; NAME.svg by default.")
    ] = None,
    levels: Annotated[int, typer.Option(help="Levels of the key to draw.")] = 5,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="GUIDE",
            help="Another guide of the same kinds: draw its key beside, and say how far the two "
            "agree.",
            show_default=False,
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Draw a picture of a guide, as one SVG file with everything inside.

    'key' draws the first levels of a key with a graph (fieldguide build … --key relaxed):
    at each couplet, pictures of the kinds that go one way, the other way and both ways.

    Example: fieldguide plot photos-guide key --out key.svg
    """
    from fieldguide._files import write_text
    from fieldguide.guide import Guide
    from fieldguide.site.plots import check_plot_name, plot_key

    check_plot_name(name)
    target = out or Path(f"{name}.svg")
    check_target(target, "--out", is_drawing)
    opened = Guide.open(guide)
    other = None if beside is None else Guide.open(beside)
    drawn = plot_key(opened, levels, beside=other)
    write_text(target, drawn.text)
    if drawn.statement:
        say(drawn.statement)
    say(f"The drawing is in {target}")


@app.command()
@_one_line_errors
def serve(
    guide: GuideFolder,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other machines can reach 0.0.0.0.")
    ] = "127.0.0.1",
    port: Port = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    embedder: Embedder = None,
    debug: Debug = False,
) -> None:
    """Serve the page of a guide until Ctrl-C."""
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    if embedder is not None:
        opened.use_embedder(embedder)
    _serve(opened, host, port, open_browser=browser and sys.stdout.isatty())


@app.command()
@_one_line_errors
def export(
    guide: GuideFolder,
    site: Annotated[Path, typer.Argument(metavar="SITE", help="Folder to make.")],
    overwrite: Annotated[
        bool,
        typer.Option(
            help="Write into SITE even when it holds other files: they stay, unless one has the "
            "name of a page."
        ),
    ] = False,
    debug: Debug = False,
) -> None:
    """Write the page as plain files that open without a server (SITE/index.html)."""
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    with Reporter() as report:
        first = opened.export_site(site, overwrite=overwrite, progress=report)
    say(f"Open {first}")


def _build(collection: "Collection", out: Path, report: Reporter, **options: Any) -> "Guide":
    from fieldguide.guide import Guide

    return Guide.build(collection, out, progress=report, **options)


def _serve(guide: "Guide", host: str, port: int | None, *, open_browser: bool) -> None:
    from fieldguide.site import serve as serve_site

    def announce(address: str) -> None:
        say(f"The page is at {address} (Ctrl-C ends it)")

    serve_site(guide, host, port, open_browser=open_browser, announce=announce)


def _print_summary(guide: "Guide") -> None:
    say(f"{guide.title}: {guide.summary}")
    say(guide.verdict)
    if guide.unreadable:
        say(f"{len(guide.unreadable):,} files were skipped:")
        for file in guide.unreadable[:10]:
            say(f"  {file.path}: {file.reason}")
        if len(guide.unreadable) > 10:
            say("  … all of them stand on the page 'About this guide'")
    say(f"The guide is in {guide.folder}")


def _console() -> tuple[Any, tuple[str, ...]]:
    """Return the terminal, and the marks that it can show."""
    from rich.console import Console

    from fieldguide.site.terminal import FINE, PLAIN

    console = Console(highlight=False)
    try:
        "".join(FINE).encode(console.encoding)
    except UnicodeEncodeError:
        return console, PLAIN
    return console, FINE


def _describe_beside(guide: "Guide", other: "Guide", out: Path | None, as_json: bool) -> None:
    from fieldguide._files import write_text
    from fieldguide.guide.compare import compare_guides
    from fieldguide.site.comparison import compare_on_page
    from fieldguide.site.records import comparison_record
    from fieldguide.site.terminal import comparison_lines

    comparison = compare_guides(guide, other)
    if out is not None:
        write_text(out, compare_on_page(guide, other, comparison))
    if as_json:
        say_json(comparison_record(guide, other, comparison))
        return
    console, marks = _console()
    say_rich(console, comparison_lines(guide, other, comparison, console.width, marks))
    if out is not None:
        say(f"The page is in {out}")


def _describe_words(guide: "Guide", plate: Path | None, as_json: bool) -> None:
    image = guide.draw_visual_words()
    shown = [
        {"word": w.number, "share": round(w.share, 6), "kinds": dict(w.kinds)}
        for w in guide.visual_words
    ]
    if plate is not None:
        from PIL.PngImagePlugin import PngInfo

        from fieldguide._files import replacing

        by = PngInfo()
        by.add_text("Software", PLATE_SOFTWARE)
        with replacing(plate) as temporary:
            image.save(temporary, "PNG", pnginfo=by)
    if as_json:
        say_json(shown)
        return
    for word in guide.visual_words:
        homes = ", ".join(f"{name} ({factor:.0f}×)" for name, factor in word.kinds)
        say(f"word {word.number:<5} 1 window in {round(1 / max(word.share, 1e-6)):<7,} {homes}")
    say(f"The plate is in {plate}" if plate else "See them: add --plate words.png, or serve it.")


if __name__ == "__main__":
    main()
