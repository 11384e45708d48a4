"""Whether the files of a guide can be believed: asked once, when the guide is opened.

A guide may come from a stranger, or from a disk that fails. Whatever its files say, a guide is
opened whole or refused with one sentence that names the place:

==============  ==================================================================================
``files``       plain files in plain folders: no link, no pipe, nothing outside the guide
``info``        guide.json: the type and the range of every value that is used
``tables``      the catalogue: its tables are those that we write, each value has its type and
                range, each number points at something
``journal``     what a build that was interrupted has measured
``tree``        branches form one tree in pre-order; branches and kinds count what is there
==============  ==================================================================================

Models are checked field by field where they are read (``fieldguide._saving``).
"""

from fieldguide.guide.validation.files import check_files
from fieldguide.guide.validation.info import check_earlier, check_info
from fieldguide.guide.validation.journal import check_journal
from fieldguide.guide.validation.shapes import UnsoundError
from fieldguide.guide.validation.tables import check_schema, check_tables

__all__ = [
    "UnsoundError",
    "check_earlier",
    "check_files",
    "check_info",
    "check_journal",
    "check_schema",
    "check_tables",
]
