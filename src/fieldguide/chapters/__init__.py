"""Chapters that a guide can do without, each in a folder of its own.

A chapter owns everything about itself::

    chapter.py     what it measures and writes while a guide is built, what it says of a new image
    records.py     what it says, as records, with an EXAMPLE for docs/answer.md
    page.py        its part of the pages, with kind.html, pair.html, answer.html, style.css; pages
                   of its own, with script.js
    command.py     its commands

Without its name here, and without its folder, the rest works as before.
"""

OPTIONAL = ("marks", "places", "walk", "check")
