"""``python -m fieldguide`` is ``fieldguide``."""

from fieldguide.cli import main

main()
