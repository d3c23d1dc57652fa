"""One streaming pass over a raw table, in bounded memory: decompress ahead, drop unwanted lines, parse the rest."""

import codecs
import re
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from isal import isal_zlib

from benchmarks.data.mimic3.linefilter import LineFilter
from benchmarks.data.mimic3.progress import Progress
from benchmarks.data.mimic3.tables import ROW_ID, MimicError, RawTable

Keep = Mapping[str, Collection[int]]  # for each key column the ids that are wanted

_READ = 1 << 20  # bytes of file per step
_BLOCK = 16 << 20  # largest piece of decompressed text
_LONGEST_LINE = 64 << 20  # a "line" longer than this is a quote that never closes
_TIME = "%Y-%m-%d %H:%M:%S"  # dates alone are refused; in the big tables by events.py, this parser being slower
_LARGEST = 1e12  # of a measurement; sums of such numbers are still exact
_PARSE = 16 << 20  # wanted text gathered before it is parsed


def read(table: RawTable, keep: Keep, progress: Progress) -> Iterator[pa.Table]:
    """The used columns of the rows whose key columns hold wanted ids; `progress` counts what went by."""
    batches = _read_parquet if table.path.suffix == ".parquet" else _read_csv
    yield from batches(table, keep, progress)
    progress.finish()


def once(table: RawTable, batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same batches without ROW_ID; a ROW_ID that comes twice is an error (a table joined or loaded twice).

    All rows of a table of a hundred thousand are looked at, and each thousandth or so of the further ones.
    """
    seen = [np.empty(0, np.int64)]
    for batch in batches:
        if ROW_ID in table.types:
            ids = batch[ROW_ID].to_numpy()
            seen.append(ids[(ids < 100_000) | (ids % 1009 == 0)])
            batch = batch.drop_columns(ROW_ID)
        yield batch
    found = np.concatenate(seen)
    if len(np.unique(found)) < len(found):
        raise MimicError(
            f"{table.path.name} holds rows with the same ROW_ID: it was joined or loaded twice; download it again"
        )


def _read_csv(table: RawTable, keep: Keep, progress: Progress) -> Iterator[pa.Table]:
    wanted_lines = LineFilter(table.header, keep)
    rest, gathered, size = b"", [], 0
    for block in _ahead(_body(table, progress)):
        lines = rest + block
        wanted, rows, used = wanted_lines(lines)
        rest = lines[used:]
        if len(rest) > _LONGEST_LINE:
            break
        progress.add(rows=rows)
        gathered.append(wanted)
        size += len(wanted)
        if size > _PARSE:
            yield _parse(table, b"".join(gathered))
            gathered, size = [], 0
    if rest:
        raise MimicError(
            f"{table.path.name} opens a quote that is never closed; the file is damaged, download it again"
        )
    yield _parse(table, b"".join(gathered))


def _ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks, the next one made in a thread meanwhile: isal and the line filter both release the GIL."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


def _body(table: RawTable, progress: Progress) -> Iterator[bytes]:
    """The text below the header, checked to be UTF-8, with a line break at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    head: bytes | None = b""
    try:
        with table.path.open("rb") as file:
            for block in _inflate(file, progress) if table.path.suffix == ".gz" else _plain(file, progress):
                if not block.isascii() or decoder.getstate()[0]:
                    decoder.decode(block)
                if head is not None:
                    head += block
                    end = head.find(b"\n")
                    if end < 0:
                        continue
                    block, head = head[end + 1 :], None
                yield block
        decoder.decode(b"", final=True)
    except (isal_zlib.error, EOFError):  # type: ignore[misc]  # a class, which its stub calls an instance
        raise MimicError(f"{table.path.name} is truncated or damaged gzip; download it again") from None
    except UnicodeDecodeError:
        raise MimicError(f"{table.path.name} is not UTF-8; use the file as downloaded, not a re-saved one") from None
    yield b"\n"  # ends a last line that has no line break; otherwise a blank line, which is not a row


def _plain(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        progress.add(done=len(block))
        yield block


def _inflate(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    """Decompress a gzip file of one or more members; isal is five times as fast as zlib and checks CRC and length."""
    stream = None
    while piece := file.read(_READ):
        progress.add(done=len(piece))
        while piece:
            if stream is None:
                piece = piece.lstrip(b"\0")  # padding after a member is allowed
                if not piece:
                    break
                stream = isal_zlib.decompressobj(wbits=31)
            yield stream.decompress(piece, _BLOCK)
            piece, stream = (stream.unused_data, None) if stream.eof else (stream.unconsumed_tail, stream)
    if stream is not None:
        yield stream.flush()
        if not stream.eof:
            raise EOFError


def _parse(table: RawTable, text: bytes) -> pa.Table:
    schema = pa.schema(list(table.types.items()))
    if not text:
        return schema.empty_table()
    try:
        rows = pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(column_names=list(table.header)),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=table.columns,
                column_types=schema,
                strings_can_be_null=True,
                null_values=[""],
                timestamp_parsers=[_TIME] if table.rows_v1_4 < 10**6 else [],
            ),
        )
    except pa.ArrowInvalid as error:
        raise _explain(table, str(error)) from None  # Arrow quotes the record, which must not reach a log
    return _measured(table, rows)


def _measured(table: RawTable, rows: pa.Table) -> pa.Table:
    """The same rows, if every number in them could be a measurement."""
    for name, kind in table.types.items():
        if pa.types.is_floating(kind) and pc.any(pc.invert(pc.less(pc.abs(rows[name]), _LARGEST))).as_py():
            raise MimicError(f"{table.path.name}: {name} holds a number that is not finite, or {_LARGEST:g} or more")
    return rows


def _explain(table: RawTable, message: str) -> MimicError:
    column = re.search(r"In CSV column #(\d+)", message)
    if column is None:
        return MimicError(f"{table.path.name} has a line that does not have the header's {len(table.header)} fields")
    name = table.header[int(column[1])]
    kind = table.types[name]
    wanted = "a time as YYYY-MM-DD HH:MM:SS" if pa.types.is_timestamp(kind) else f"a value of type {kind}"
    return MimicError(f"{table.path.name}: a field of {name} does not parse; wanted {wanted}, or nothing")


def _read_parquet(table: RawTable, keep: Keep, progress: Progress) -> Iterator[pa.Table]:
    file = pq.ParquetFile(table.path)
    names = {name.upper(): name for name in file.schema_arrow.names}
    ids = {column: pa.array(sorted(values), pa.int32()) for column, values in keep.items()}
    for batch in file.iter_batches(1 << 18, columns=[names[column] for column in table.columns]):
        progress.add(rows=batch.num_rows, done=batch.num_rows)
        columns = {}
        for column, kind in table.types.items():
            try:
                values = batch[names[column]]
                text = pa.types.is_timestamp(kind) and pa.types.is_string(values.type)
                columns[column] = (pc.strptime(values, _TIME, "us") if text else values).cast(kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise MimicError(f"{table.path.name}: {column} cannot be read as {kind}") from None
        rows = pa.table(columns)
        for column, values in ids.items():
            rows = rows.filter(pc.is_in(rows[column], values))
        yield _measured(table, rows)
