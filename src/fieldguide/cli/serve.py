"""``fieldguide serve``."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fieldguide.terminal.arguments import Debug, Embedder, GuideFolder, one_line_errors
from fieldguide.terminal.console import say

if TYPE_CHECKING:
    from fieldguide.guide import Guide

Port = Annotated[
    int | None,
    typer.Option(help="Port to listen on; by default the first free one from 8000."),
]

Language = Annotated[
    str | None,
    typer.Option(
        help="Language of the pages: en, de or fr; by default each browser's own.",
        show_default=False,
    ),
]


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
    language: Language = None,
    embedder: Embedder = None,
    debug: Debug = False,
) -> None:
    """Serve the page of a guide until Ctrl-C."""
    from fieldguide._languages import check_language
    from fieldguide.guide import Guide

    if language is not None:
        check_language(language)
    opened = Guide.open(guide)
    if embedder:
        opened.use_embedder(embedder)
    serve_page(
        opened,
        host,
        port,
        open_browser=browser and sys.stdout.isatty(),
        edit=edit,
        language=language,
    )


def serve_page(
    guide: "Guide",
    host: str,
    port: int | None,
    *,
    open_browser: bool,
    edit: bool = False,
    language: str | None = None,
) -> None:
    """Serve the page of an open guide until Ctrl-C, and say where it is."""
    from fieldguide.site import serve as serve_site
    from fieldguide.site.guard import warn_of_host

    def announce(address: str) -> None:
        if warning := warn_of_host(host):
            say(warning)
        if edit:
            say("Whoever opens this address may edit the guide; keep it to yourself.")
        say(f"The page is at {address} (Ctrl-C ends it)")

    serve_site(
        guide,
        host,
        port,
        open_browser=open_browser,
        announce=announce,
        edit=edit,
        language=language,
    )
