"""The table that verbs such as `plan` and `status` print in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def table(*heads: str) -> Table:
    """A rich table with these headers, without frames and line breaks in cells, narrow enough for 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Column, Table

    columns = (Column(head, no_wrap=True) for head in heads)
    return Table(*columns, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
