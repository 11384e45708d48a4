"""The pages of a guide as plain files."""

from pathlib import Path

from fieldguide.exports.order import Order


def write(order: Order) -> Path:
    """Write the pages; see :func:`fieldguide.site.export_site`."""
    return order.guide.export_site(
        order.target,
        overwrite=order.overwrite,
        progress=order.progress,
        language=order.language,
    )
