"""Keep the lines of a CSV whose key columns hold wanted ids, before anything is parsed.

Few of CHARTEVENTS' rows are needed, and splitting, converting and copying the others is what makes a plain CSV reader
slower than decompression. This looks at each byte once.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

_QUOTE, _COMMA, _NEWLINE, _ZERO, _NINE = 34, 44, 10, 48, 57


class LineFilter:
    """Lines in, wanted lines out; a line counts as wanted when every key column holds one of its ids."""

    def __init__(self, header: Sequence[str], keep: Mapping[str, Collection[int]]) -> None:
        ids = {header.index(name): np.fromiter(values, np.int64) for name, values in keep.items()}
        size = max((int(values.max(initial=0)) for values in ids.values()), default=0) + 1
        self._key = np.full(len(header), -1)  # for each column, the row of _wanted it is looked up in
        self._wanted = np.zeros((len(ids), size), dtype=np.bool_)
        for row, (column, values) in enumerate(sorted(ids.items())):
            self._key[column] = row
            self._wanted[row, values] = True

    def __call__(self, lines: bytes) -> tuple[bytes, int, int]:
        """The wanted lines, the number of lines seen, and how many bytes they took (the rest is an unfinished line)."""
        source = np.frombuffer(lines, np.uint8)
        target = np.empty_like(source)
        used, written, rows = _scan(source, self._key, self._wanted, target)
        return target[:written].tobytes(), int(rows), int(used)


def _compiled(function: Any) -> Any:
    """Compiled once per machine; per process where neither the package nor the home may be written to."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


@_compiled
def _scan(
    source: npt.NDArray[np.uint8],
    key: npt.NDArray[np.int64],
    wanted: npt.NDArray[np.bool_],
    target: npt.NDArray[np.uint8],
) -> Any:
    n, keys, size = source.size, wanted.shape[0], wanted.shape[1]
    i = start = written = rows = 0
    while i < n:
        column = keys_seen = matched = number = 0
        quoted = closed = ended = False
        # Up to the last key column every field matters ...
        while i < n and keys_seen < keys:
            c = source[i]
            i += 1
            if c == _QUOTE:
                quoted = not quoted
            elif c in (_COMMA, _NEWLINE) and not quoted:
                if column < key.size and key[column] >= 0:
                    keys_seen += 1
                    matched += number < size and wanted[key[column], number]
                column += 1
                number = 0
                closed = False
                if c == _NEWLINE:
                    ended = True
                    break
            elif _ZERO <= c <= _NINE and not closed:
                number = min(number * 10 + (c - _ZERO), size)  # never beyond the table, however long the field
            else:
                closed = True
        # ... after it only the end of the line does; a line break inside quotes is text.
        while i < n and not ended:
            c = source[i]
            i += 1
            if c == _QUOTE:
                quoted = not quoted
            elif c == _NEWLINE and not quoted:
                ended = True
        if not ended:
            break
        if i - start > 2 or (i - start == 2 and source[start] != 13):  # blank lines ("\n", "\r\n") are not rows
            rows += 1
            if matched == keys:
                target[written : written + i - start] = source[start:i]
                written += i - start
        start = i
    return start, written, rows
