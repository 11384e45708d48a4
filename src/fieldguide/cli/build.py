"""``fieldguide demo``, ``fieldguide build`` and ``fieldguide add``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.cli.serve import Language, Port, serve_page
from fieldguide.terminal.arguments import (
    AsJson,
    Debug,
    Device,
    Embedder,
    GuideFolder,
    one_line_errors,
)
from fieldguide.terminal.console import say, say_json
from fieldguide.terminal.reporter import Reporter

if TYPE_CHECKING:
    from fieldguide.guide import Guide


@one_line_errors
def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the guide; by default fieldguide-demo, of clips fieldguide-clips.",
            show_default=False,
        ),
    ] = None,
    clips: Annotated[
        bool, typer.Option("--clips", help="Of drawn clips of animals that move.")
    ] = False,
    serve: Annotated[
        bool | None,
        typer.Option("--serve/--no-serve", help="Serve the page; by default when on a terminal."),
    ] = None,
    port: Port = None,
    language: Language = None,
    debug: Debug = False,
) -> None:
    """Build the guide of the embedded collection, and show it.

    The collection is drawn by code: birds, fishes, beetles, leaves and more.
    The second time, the guide is there already and the page opens at once.
    """
    from fieldguide._languages import check_language
    from fieldguide.guide.demo import build_demo, finished_demo

    if language is not None:
        check_language(language)
    out = out or Path("fieldguide-clips" if clips else "fieldguide-demo")
    guide = finished_demo(out, clips=clips)
    if guide is None:
        with Reporter() as report:
            guide = build_demo(out, report, clips=clips)
    _print_summary(guide)
    if serve if serve is not None else sys.stdout.isatty():
        serve_page(guide, "127.0.0.1", port, open_browser=sys.stdout.isatty(), language=language)


@one_line_errors
def build(
    folder: Annotated[
        str,
        typer.Argument(
            help="Folder of images and clips, with sub-folders or without; or an address, such as "
            "s3://bucket/photos (needs the extra remote).",
        ),
    ],
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
    bursts: Annotated[
        bool,
        typer.Option(
            "--bursts",
            help="Take the pictures of one folder that a camera took in one minute, by their EXIF, "
            "for one specimen.",
        ),
    ] = False,
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
            help="Outline what the key decides by on a few pictures of each kind, and look at how "
            "a few clips of each move; a build without is quicker."
        ),
    ] = True,
    embedder: Embedder = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="A file of 'fieldguide words': the words that pictures are told in, by an "
            "embedder whose pictures and texts meet.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="How many cores work; -1 is all.")] = -1,
    device: Device = "cpu",
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a dask scheduler, or its scheduler file: its workers, which see "
            "FOLDER under the same name, measure the images (needs the extra cluster).",
            show_default=False,
        ),
    ] = None,
    max_megapixels: Annotated[
        float, typer.Option(help="Larger pictures are listed as unreadable.")
    ] = 80,
    timings: Annotated[
        bool, typer.Option("--timings", help="Print how long each step took.")
    ] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Build the guide of a folder of images and clips, or bring it up to date.

    A video file or moving GIF is one specimen, seen by a few frames (videos need the extra video).
    Kinds come from the sub-folders, words also from captions beside pictures (name.txt or
    name.json beside name.jpg). Pictures that cannot be read are listed and skipped, other files
    are counted. Nothing is written into FOLDER. A build that was stopped goes on where it stopped,
    and a second build reads only new and changed files.

    Example: fieldguide build photos --out photos-guide
    """
    from fieldguide.collection import Collection
    from fieldguide.guide import Guide

    collection = Collection.from_folder(
        folder,
        kinds=kinds,
        sidecar=sidecar,
        max_pixels=round(max_megapixels * 1e6),
        bursts=bursts,
    )
    with Reporter(quiet=as_json) as report:
        guide = Guide.build(
            collection,
            out,
            progress=report,
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
            vocabulary=vocabulary,
            seed=seed,
            n_jobs=jobs,
            device=device,
            client=scheduler,
        )
    if as_json:
        say_json({**guide.about, "guide": str(out), "summary": guide.summary})
        return
    _print_summary(guide)
    if timings:
        from fieldguide.site.making import word_steps

        steps = word_steps(guide.about)
        width = max((len(step) for step, _ in steps), default=0)
        for step, took in steps:
            say(f"  {step:<{width}}  {took}")
    say(f"Look at it: fieldguide serve {out}")


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
    jobs: Annotated[int, typer.Option(help="How many cores work; -1 is all.")] = -1,
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
    if embedder:
        opened.use_embedder(embedder)
    with Reporter(quiet=as_json) as report:
        grown = opened.add(folder, kinds=kinds, n_jobs=jobs, progress=report)
    if as_json:
        say_json({**grown.about, "guide": str(guide), "summary": grown.summary})
        return
    seconds = grown.about["key_seconds"]
    say(f"{grown.about['growth']['because'].removesuffix('.')} ({seconds:.1f} s).")
    _print_summary(grown)


def _print_summary(guide: "Guide") -> None:
    from fieldguide.site.making import word_others, word_update
    from fieldguide.site.phrases import count

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
