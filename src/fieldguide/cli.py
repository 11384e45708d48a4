"""The command line: the only part of the package that prints, by way of ``_console``.

Heavy packages are imported inside the commands, so that ``--help`` is quick.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from fieldguide import _compare, _edit, _export, _identify, _watch
from fieldguide._commands import (
    AsJson,
    Debug,
    Embedder,
    GuideFolder,
    one_line_errors,
    open_console,
    say_warning,
    word_fault,
)
from fieldguide._console import (
    complain,
    drop_unsaid,
    prepare_streams,
    printable,
    say,
    say_json,
    say_rich,
    say_row,
)
from fieldguide._reporter import Reporter
from fieldguide._targets import (
    PLATE_SOFTWARE,
    check_target,
    is_comparison,
    is_drawing,
    is_plate,
)
from fieldguide.chapters import OPTIONAL
from fieldguide.errors import FieldguideError

if TYPE_CHECKING:
    from fieldguide.collection import Collection
    from fieldguide.guide import Guide
    from fieldguide.guide.views import Found


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

Port = Annotated[
    int | None,
    typer.Option(help="Port to listen on; by default the first free one from 8000."),
]


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        say(f"fieldguide {metadata.version('fieldguide')}")
        raise typer.Exit


@app.callback()
def _begin(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which version this is.", callback=_tell_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    prepare_streams()
    try:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = say_warning
                app()
        finally:
            sys.stdout.flush()  # at the end of Python, an error would no longer be ours to word
    except BrokenPipeError:
        drop_unsaid()
        sys.exit(1)
    except Exception as error:  # of a command with --debug, of the help, or of our own making
        sentence = None if "--debug" in sys.argv else word_fault(error)
        if sentence is None:
            import traceback

            say(*traceback.format_exc().rstrip("\n").split("\n"), file=sys.stderr)
        else:
            complain(sentence)
        drop_unsaid()
        sys.exit(1 if sentence is None else 2)


@app.command()
@one_line_errors
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
@one_line_errors
def build(
    folder: Annotated[Path, typer.Argument(help="Folder of images, with sub-folders or without.")],
    out: Annotated[Path, typer.Option(help="Folder for the guide, outside the images' folder.")],
    title: Annotated[str | None, typer.Option(help="Shown on the page.")] = None,
    kinds: Annotated[
        str,
        typer.Option(
            help="Where an image's kind comes from: 'parent' (the folder that holds it), 'top' "
            "(the first folder below FOLDER) or 'none'. 'auto' is the nearest folder whose name is "
            "no date, number, camera or the like, and says what it took."
        ),
    ] = "auto",
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
            help="What images are compared by: 'auto', or one or more of deep, closer, peaks, "
            "subject, quarters, words, hog, gist, texture, color joined by '+'; 'looks' is the "
            "first five. 'auto' is looks, unless a sample tells that deep is as good or others are "
            "better."
        ),
    ] = "auto",
    key: Annotated[
        str,
        typer.Option(
            help="How images are named: 'ova' (one-vs-all), 'ovo' (one-vs-one), or a tree: "
            "'attention', 'relaxed', 'cut', 'confusion' or 'dag', with parameters as in "
            "'relaxed:rho=0.9,C=10'. 'auto' is the cheapest that names about as many held-out "
            "specimens rightly as one-vs-all."
        ),
    ] = "auto",
    kernel: Annotated[
        str,
        typer.Option(
            help="Of the key: 'linear', 'chi2', 'intersection', 'jensen_shannon', 'hellinger', "
            "'rbf' or 'exponential_chi2'."
        ),
    ] = "linear",
    key_cost: Annotated[
        float | None,
        typer.Option(
            help="Largest share of one-vs-all's cost that a tree key may have.", show_default=False
        ),
    ] = None,
    key_loss: Annotated[
        float | None,
        typer.Option(
            help="What a tree key may lose in held-out accuracy against one-vs-all.",
            show_default=False,
        ),
    ] = None,
    key_words: Annotated[
        bool,
        typer.Option(
            "--key-words",
            help="Of splits of the key 'auto' or 'relaxed' that are about as good, take the one "
            "that a word tells apart best.",
        ),
    ] = False,
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
    places: Annotated[
        bool,
        typer.Option(
            help="Outline what the key decides by on a few pictures of each kind; a build without "
            "is quicker."
        ),
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

    Kinds come from the sub-folders, words also from captions beside pictures (name.txt or
    name.json beside name.jpg). Pictures that cannot be read are listed and skipped, other files
    are counted. Nothing is written into FOLDER. A build that was stopped goes on where it stopped,
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
            kernel=kernel,
            key_cost=key_cost,
            key_loss=key_loss,
            key_words=key_words,
            tree=tree,
            marks=marks,
            places=places,
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
@one_line_errors
def add(
    guide: GuideFolder,
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of new images: with a sub-folder for each kind, or named after its kind."
        ),
    ],
    kinds: Annotated[
        str,
        typer.Option(
            help="Where an image's kind comes from: 'auto', 'parent' or 'top'; see build."
        ),
    ] = "auto",
    embedder: Embedder = None,
    jobs: Annotated[int, typer.Option(help="Threads; -1 is all cores.")] = -1,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Add new images to a guide, without those that it was built from.

    A key that is an attention tree (fieldguide build … --key attention) learns new kinds without
    being trained again. Any other key, and one that gets more images of kinds that it knows, is
    trained again. The tree, the words and the marks are then those of all images. An image whose
    path the guide has already is passed over if it is the same and refused if it is not.
    A command that was stopped leaves the guide as it was, and goes on where it stopped.

    Example: fieldguide add photos-guide more-photos
    """
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    if embedder is not None:
        opened.use_embedder(embedder)
    with Reporter(quiet=as_json) as report:
        grown = opened.add(folder, kinds=kinds, n_jobs=jobs, progress=report)
    if as_json:
        say_json({**grown.about, "guide": str(guide), "summary": grown.summary})
        return
    seconds = grown.about["key_seconds"]
    say(f"{grown.about['growth']['because'].removesuffix('.')} ({seconds:.1f} s).")
    _print_summary(grown)


@app.command()
@one_line_errors
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

    On a terminal, the dots say how often the name of a branch is true of its specimens.

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
        from fieldguide.guide.answer import to_plain
        from fieldguide.site.records import branch_record

        say_json(to_plain(branch_record(opened, first, depth)))
    elif sys.stdout.isatty():
        from fieldguide.site.terminal import tree_lines

        console, marks = open_console()
        say_rich(console, tree_lines(opened, first, depth, console.width, marks))
    else:
        say(*opened.describe(first, max_depth=depth).split("\n"))


@app.command(context_settings={"ignore_unknown_options": True})
@one_line_errors
def find(
    guide: GuideFolder,
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help="Words, kinds and names of files, with commas between; '-' or 'not' excludes.",
        ),
    ],
    limit: Annotated[int, typer.Option(help="The most specimens to list.", min=1)] = 20,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find specimens by words, kinds and names of files, best first.

    All terms must hold. Plurals and near spellings are read, and what was taken for a term
    is said. Where nothing fits, the exit code is 2.

    Example: fieldguide find photos-guide "orange, spotted, not tailed"
    """
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    found = opened.find(" ".join(query), limit=limit)
    if as_json:
        from fieldguide.guide.answer import to_plain
        from fieldguide.site.records import found_record

        say_json(to_plain(found_record(found)))
    else:
        _print_found(found, opened)
    if not found.total:
        raise typer.Exit(2)


@app.command()
@one_line_errors
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
@one_line_errors
def serve(
    guide: GuideFolder,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other machines can reach 0.0.0.0.")
    ] = "127.0.0.1",
    port: Port = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    edit: Annotated[
        bool,
        typer.Option(
            "--edit", help="Let whoever opens the address that is printed edit the guide."
        ),
    ] = False,
    embedder: Embedder = None,
    debug: Debug = False,
) -> None:
    """Serve the page of a guide until Ctrl-C."""
    from fieldguide.guide import Guide

    opened = Guide.open(guide)
    if embedder is not None:
        opened.use_embedder(embedder)
    _serve(opened, host, port, open_browser=browser and sys.stdout.isatty(), edit=edit)


def _build(collection: "Collection", out: Path, report: Reporter, **options: Any) -> "Guide":
    from fieldguide.guide import Guide

    return Guide.build(collection, out, progress=report, **options)


def _serve(
    guide: "Guide", host: str, port: int | None, *, open_browser: bool, edit: bool = False
) -> None:
    from fieldguide.site import serve as serve_site

    def announce(address: str) -> None:
        if edit:
            say("Whoever opens this address may edit the guide; keep it to yourself.")
        say(f"The page is at {address} (Ctrl-C ends it)")

    serve_site(guide, host, port, open_browser=open_browser, announce=announce, edit=edit)


def _print_summary(guide: "Guide") -> None:
    from fieldguide.site.phrases import count, word_others, word_update

    say(f"{guide.title}: {guide.summary}")
    say(guide.verdict)
    if update := word_update(guide.about):
        say(update)
    if guide.about.get("kinds_because"):
        say(guide.about["kinds_because"])
    if guide.unreadable:
        say(f"{count(len(guide.unreadable), 'file')} could not be read:")
        for file in guide.unreadable[:10]:
            say(f"  {file.path}: {file.reason}")
        if len(guide.unreadable) > 10:
            say("  … more of them stand on the page 'About this guide'")
    say(*guide.edits.faults)
    if guide.about.get("other_files"):
        say(f"{word_others(guide.about['other_files'])}.")
    say(f"The guide is in {guide.folder}")


def _print_found(found: "Found", guide: "Guide") -> None:
    """Print finds as a table on a terminal, with tabs for a program, and what was not found."""
    from fieldguide.site.phrases import list_notes, word_found

    notes = list_notes(found, guide.shown_name)
    if not found.total:
        complain(f"{'; '.join([word_found(found), *notes])}.")
    elif sys.stdout.isatty():
        from fieldguide.site.terminal import found_lines

        console, marks = open_console()
        say_rich(console, found_lines(found, console.width, marks, guide.shown_name))
    else:
        for note in notes:
            complain(f"{note}.")
        for one in found.finds:
            say_row(one.specimen.path, one.specimen.kind or "", ", ".join(one.because))


def _describe_beside(guide: "Guide", other: "Guide", out: Path | None, as_json: bool) -> None:
    from fieldguide._files import write_text
    from fieldguide.guide.answer import to_plain
    from fieldguide.guide.compare import compare_guides
    from fieldguide.site.comparison import compare_on_page
    from fieldguide.site.records import comparison_record
    from fieldguide.site.terminal import comparison_lines

    comparison = compare_guides(guide, other)
    if out is not None:
        write_text(out, compare_on_page(guide, other, comparison))
    if as_json:
        say_json(to_plain(comparison_record(guide, other, comparison)))
        return
    console, marks = open_console()
    say_rich(console, comparison_lines(guide, other, comparison, console.width, marks))
    if out is not None:
        say(f"The page is in {out}")


def _describe_words(guide: "Guide", plate: Path | None, as_json: bool) -> None:
    image = guide.draw_visual_words()
    if plate is not None:
        from PIL.PngImagePlugin import PngInfo

        from fieldguide._files import replacing

        by = PngInfo()
        by.add_text("Software", PLATE_SOFTWARE)
        with replacing(plate) as temporary:
            image.save(temporary, "PNG", pnginfo=by)
    if as_json:
        from fieldguide.guide.answer import to_plain
        from fieldguide.site.records import word_records

        say_json(to_plain(word_records(guide), n_digits=6))  # a word is in few of the windows
        return
    for word in guide.visual_words:
        homes = ", ".join(
            f"{guide.shown_name(name)} ({factor:.0f}×)" for name, factor in word.kinds
        )
        say(f"word {word.number:<5} 1 window in {round(1 / max(word.share, 1e-6)):<7,} {homes}")
    say(f"The plate is in {plate}" if plate else "See them: add --plate words.png, or serve it.")


for _command in (_identify, _compare, _edit, _export, _watch):
    _command.add_to(app)
for _name in OPTIONAL:
    import_module(f"fieldguide.chapters.{_name}.command").add_to(app)


if __name__ == "__main__":
    main()
