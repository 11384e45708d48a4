"""Specimens as Parquet: the rows of the CSV with their types, words as a list."""

from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fieldguide._files import replacing
from fieldguide.errors import FieldguideError
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import SpecimenRow, list_rows


def write(order: Order) -> Path:
    """Write the table."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FieldguideError(
            "Parquet needs the package pyarrow; install it with pip install 'fieldguide[parquet]', "
            "or export with `format=csv`."
        ) from None
    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}

    def arrow_type(hint: Any) -> Any:
        if get_origin(hint) is tuple:
            return pyarrow.list_(kinds[get_args(hint)[0]])
        return kinds[get_args(hint)[0] if isinstance(hint, UnionType) else hint]

    hints = get_type_hints(SpecimenRow)
    made_by = {"made_by": "fieldguide", "title": order.guide.title}
    schema = pyarrow.schema([(n, arrow_type(hints[n])) for n in SpecimenRow._fields], made_by)
    columns = [list(column) for column in zip(*list_rows(order), strict=True)]
    arrays = [pyarrow.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    with replacing(order.target) as temporary:
        parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), temporary)
    return order.target
