"""Fixtures of a browser."""

from tests.site.browsing import browser, find, live, open_page, site  # noqa: F401
