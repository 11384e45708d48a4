"""Fixtures of a browser."""

from tests.site.browsing import browser, find, live, open_page  # noqa: F401
