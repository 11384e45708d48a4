"""The documentation site: ``make docs`` builds it, without a network, and no warning passes."""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from live_guide import write_guide
from reference_pages import write_reference
from result_pages import link_to_copies, write_results

DOCS = Path(__file__).parent

project = "Fieldguide"
author = "The developers of Fieldguide"
copyright = "the developers of Fieldguide"
version = release = installed_version("fieldguide")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]

# Pages are Markdown; a heading of theirs can be linked to as on any site that shows Markdown.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["config.cache"]

# The tables of the benchmarks, and one page for each public name, from its docstring.
write_results(DOCS.parent / "benchmarks" / "results", DOCS / "results")
write_reference(DOCS / "reference")
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False

# Every example is run, and one that fails stops the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "show_signature": False,
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "min_reported_time": 20,
}

html_theme = "furo"
html_title = "Fieldguide"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_extra_path = ["llms.txt"]


def unlink_inherited(_app, _what, _name, _object, _options, lines) -> None:
    """Turn references that docstrings inherit from scikit-learn, to its own pages, into words."""
    lines[:] = [re.sub(r":(?:ref|term):`([^`<]*?)\s*(?:<[^>]*>)?`", r"\1", line) for line in lines]


def add_guide(app, exception) -> None:
    """Put a guide among the pages, for readers to walk through."""
    if exception is None and app.builder.name == "html":
        write_guide(Path(app.outdir), Path(app.doctreedir) / "guide")


def setup(app) -> None:
    """Add what the settings above cannot say."""
    app.connect("source-read", link_to_copies)
    app.connect("autodoc-process-docstring", unlink_inherited)
    app.connect("build-finished", add_guide)
