"""The page: a guide as a document to browse, served live or exported as files.

The names below are loaded when they are first used: the terminal speaks the page's phrases, and
needs no server for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldguide.site.answers import ShownAnswer
    from fieldguide.site.export import export_site
    from fieldguide.site.pictures import Picture
    from fieldguide.site.render import Renderer
    from fieldguide.site.server import create_app, serve

_HOME = {
    "Picture": "pictures",
    "Renderer": "render",
    "ShownAnswer": "answers",
    "create_app": "server",
    "export_site": "export",
    "serve": "server",
}

__all__ = [
    "Picture",
    "Renderer",
    "ShownAnswer",
    "create_app",
    "export_site",
    "serve",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"fieldguide.site.{_HOME[name]}"), name)
    raise AttributeError(f"module 'fieldguide.site' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
