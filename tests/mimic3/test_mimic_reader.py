"""The streaming reader against Python's csv module, in every format, and its memory."""

import csv
import gzip
import io
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.mimic_hand import HEADERS, Hospital

from benchmarks.data.mimic3 import MimicOptions, build, reader
from benchmarks.data.mimic3.events import raw_rows
from benchmarks.data.mimic3.linefilter import LineFilter
from benchmarks.data.mimic3.progress import Progress

HEADER = ["ROW_ID", "ICUSTAY_ID", "VALUE", "ITEMID", "NOTE"]
TEXT = st.text(alphabet='ab",\n1 é', max_size=6)
LINE = st.tuples(st.integers(0, 99), st.sampled_from(["", 5, 7, 8]), TEXT, st.sampled_from([1, 20, 211, 7000000]), TEXT)


@given(rows=st.lists(LINE, max_size=20), end=st.sampled_from(["\n", "\r\n"]), cut=st.integers(0, 200))
@settings(deadline=None, max_examples=200)
def test_line_filter_agrees_with_the_csv_module(rows: list[tuple[object, ...]], end: str, cut: int) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end, quoting=csv.QUOTE_MINIMAL).writerows(rows)
    text = file.getvalue().encode()
    keep = LineFilter(HEADER, {"ICUSTAY_ID": [5, 8], "ITEMID": [211, 20]})
    # In two pieces, as it comes from a file: the second begins with what the first left over.
    first, first_rows, used = keep(text[:cut])
    second, second_rows, rest = keep(text[used:])
    assert first_rows + second_rows == len(rows)
    assert used + rest == len(text)
    found = list(csv.reader(io.StringIO((first + second).decode(), newline="")))
    assert found == [[str(v) for v in row] for row in rows if row[1] in (5, 8) and row[3] in (211, 20)]


@pytest.mark.parametrize(
    ("field", "kept"), [("211", True), ('"211"', True), ("2110", False), ("21", False), ("-211", False), ("", False)]
)
def test_line_filter_reads_whole_numbers(field: str, kept: bool) -> None:
    found, rows, _ = LineFilter(["A", "B"], {"A": [211]})(f"{field},x\n".encode())
    assert (bool(found), rows) == (kept, 1)


def test_line_filter_skips_blank_lines_and_keeps_the_rest_of_a_line() -> None:
    keep = LineFilter(["A"], {"A": [1]})
    assert keep(b"1\n\n\r\n1\n12") == (b"1\n1\n", 2, 7)
    assert LineFilter(["A"], {})(b"9\n8\n") == (b"9\n8\n", 2, 4)  # no key: every line


@pytest.fixture(scope="module")
def ward() -> Hospital:
    ward = Hospital()
    for rate in (60, 70, 80):
        who = ward.patient()
        who.chart(2, 211, rate)
        who.lab(3, 51006, rate)
        who.chart(3, 467, 'Ventilator, "new"\nsecond line')
    # An item of no use, and nobody's stay.
    ward.add("CHARTEVENTS", ICUSTAY_ID=200002, ITEMID=2, CHARTTIME="2150-01-10 15:00:00", VALUENUM=1)
    ward.add("CHARTEVENTS", ICUSTAY_ID=399999, ITEMID=211, CHARTTIME="2150-01-10 15:00:00", VALUENUM=80)
    return ward


def as_parquet(raw: Path) -> None:
    for path in raw.glob("*.csv"):
        pd.read_csv(path, dtype=str).to_parquet(path.with_suffix(".parquet"))  # all text: the reader casts
        path.unlink()


def as_gzip(raw: Path) -> None:
    for path in raw.glob("*.csv"):
        head, _, body = path.read_bytes().partition(b"\n")
        # Two members and zero padding, as concatenated archives have; lower-case names and headers, as the demo's.
        data = gzip.compress(head.lower().replace(b'"', b"") + b"\n") + gzip.compress(body) + b"\0" * 7
        (raw / f"{path.stem.lower()}.csv.gz").write_bytes(data)
        path.unlink()


def as_windows(raw: Path) -> None:
    for path in raw.glob("*.csv"):
        text = path.read_bytes().replace(b"\r\n", b"\n").rstrip(b"\n")  # and no line break at the end
        path.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))


@pytest.mark.parametrize("change", [as_parquet, as_gzip, as_windows])
def test_every_format_gives_the_same(ward: Hospital, change: object, tmp_path: Path) -> None:
    build(ward.write(tmp_path / "plain"), tmp_path / "wanted")
    change(ward.write(tmp_path / "raw"))  # type: ignore[operator]
    build(tmp_path / "raw", tmp_path / "found")
    for file in ("mimic.parquet", "mimic_seq.parquet", "flow.csv", "checks.csv"):
        assert (tmp_path / "found" / file).read_bytes() == (tmp_path / "wanted" / file).read_bytes(), file


def test_small_blocks_change_nothing(ward: Hospital, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = ward.write(tmp_path / "raw")
    as_gzip(raw)
    build(raw, tmp_path / "wanted")
    for name, size in (("_READ", 50), ("_BLOCK", 64), ("_PARSE", 100)):
        monkeypatch.setattr(reader, name, size)
    build(raw, tmp_path / "found")
    for file in ("mimic.parquet", "mimic_seq.parquet"):
        assert (tmp_path / "found" / file).read_bytes() == (tmp_path / "wanted" / file).read_bytes(), file


def test_only_needed_columns_items_and_stays_are_kept(ward: Hospital, tmp_path: Path) -> None:
    raw = ward.write(tmp_path / "raw")
    build(raw, tmp_path / "out")
    kept = pq.read_table(tmp_path / "out/events/chartevents.parquet")
    assert kept.column_names == ["subject_id", "hadm_id", "icustay_id", "itemid", "charttime", "value", "valuenum"]
    # 4 per patient and one of the bystander stay, the two others of the fixture go.
    assert kept.num_rows == 3 * 4 + 1
    assert raw_rows(tmp_path / "out/events/chartevents.parquet") == 3 * 4 + 3


def test_progress_says_rows_and_rate_but_nothing_about_patients(
    ward: Hospital, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(ward.write(tmp_path / "raw"), tmp_path / "out", MimicOptions(progress=True))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == list(HEADERS)
    assert lines[-1].startswith("CHARTEVENTS: 15 rows in 0:00:0")
    assert lines[-1].endswith(" rows/s")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_bar_shows_share_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 5.0, 10.0, 20.0])
    monkeypatch.setattr("benchmarks.data.mimic3.progress.time.monotonic", lambda: next(now))
    screen = Terminal()
    progress = Progress("CHARTEVENTS", 1000, show=True, stream=screen)
    progress.add(done=250)
    progress.add(rows=5000)  # a quarter in 10 s: half a minute to go
    progress.finish()
    running, last = (line.strip() for line in screen.getvalue().split("\r")[1:])
    assert running == "CHARTEVENTS: [#####               ]  25%  5,000 rows, 500 rows/s, 0:00:30 left"
    assert last == "CHARTEVENTS: 5,000 rows in 0:00:20, 250 rows/s"
