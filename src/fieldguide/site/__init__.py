"""The page: a guide as a document to browse, served live or exported as files."""

from fieldguide.site.answers import ShownAnswer
from fieldguide.site.export import export_site
from fieldguide.site.pictures import Picture
from fieldguide.site.render import Renderer
from fieldguide.site.server import create_app, serve

__all__ = [
    "Picture",
    "Renderer",
    "ShownAnswer",
    "create_app",
    "export_site",
    "serve",
]
