"""Fixtures of a browser."""

from tests.site.browsing import browser, find, live, live_keyed, open_page, site  # noqa: F401
