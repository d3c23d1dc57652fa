"""The built cohort beside public figures: aggregates only, each with a tolerance, a verdict and its source."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow.parquet as pq

from benchmarks.data.mimic3.database import count
from benchmarks.data.mimic3.options import MimicOptions
from benchmarks.data.mimic3.series import Observed
from benchmarks.data.mimic3.small_cells import FEWEST, HIDDEN, SmallCells
from benchmarks.data.mimic3.tables import MimicError, facts

FILE = "checks.csv"
NOT_JUDGED, EQUAL, CLOSE, OFF = "not judged", "equal", "close", "off"
_IDS = ("subject_id", "hadm_id", "icustay_id", "time", "event")
_ROWS = "mimic-code, postgres_checks.sql for v1.4"
_CODES = ("aids", "hem", "mets", "admissiontype")  # never missing, and counted as groups
_SYSTEMS = ("carevue", "metavision")
# How the original counts: without the admissions it loses (sql/lost.sql), whatever this build's options are.
_ORIGINAL = "labelled WHERE NOT is_lost AND span > {hours} * 3600"


class Check(NamedTuple):
    """One figure; `within` is a share of the published one ("2%") or an absolute width."""

    check: str
    name: str
    value: Any
    published: str = ""
    within: str = ""
    verdict: str = ""
    source: str = ""


def write_checks(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    out: Path,
    cohort: Mapping[str, Any],
    flow: Sequence[Mapping[str, Any]],
    observed: Mapping[str, Observed],
) -> None:
    """Write checks.csv: public figures, then columns, series, groups of patients, and what is odd in the tables."""
    table = pq.ParquetFile(out / "mimic.parquet").read()
    columns = {name: column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True)}
    systems = connection.execute("SELECT dbsource FROM kept ORDER BY place").fetchnumpy()["dbsource"]
    cells = SmallCells(not cohort["mark"])
    rows = [*_public(connection, cohort, flow, columns, cells)]
    rows += [*_columns(columns, np.asarray(systems), cells), *_series(observed, cells), *_groups(connection, cells)]
    quality = connection.execute('SELECT "check", name, n, shown_beside FROM quality ORDER BY "check", name').fetchall()
    rows += [Check(check, name, cells.count(n, beside)) for check, name, n, beside in quality]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Check._fields)
        writer.writerows(row._replace(value=_shown(row.value)) for row in rows)


def verdict(value: float, published: str, within: str) -> str:
    """Equal as printed, close (within the tolerance) or off."""
    figure = float(published)
    if round(value, len(published.partition(".")[2])) == figure:
        return EQUAL
    width = float(within[:-1]) / 100 * figure if within.endswith("%") else float(within)
    return CLOSE if abs(value - figure) <= width else OFF


def table_of(built: Path) -> list[str]:
    """The checks of a finished build, and of a run's build the run's cells, as Markdown that tells of no patient."""
    about = about_of(built)
    with (built / FILE).open(newline="", encoding="utf-8") as file:
        rows = [Check(**row) for row in csv.DictReader(file)]
    usual = MimicOptions().choices()
    changed = {name: value for name, value in about["options"].items() if value != usual.get(name)}
    judged = Counter(row.verdict for row in rows if row.verdict)
    return [
        f"Built from {about['mark'] or 'MIMIC-III v1.4'} tables; choices other than the defaults: {changed or 'none'}.",
        "",
        *markdown(Check._fields, rows),
        "",
        f"{judged.total()} public figures: " + ", ".join(f"{judged[word]} {word}" for word in sorted(judged)),
        *([f'"{HIDDEN}": the number would tell of 1 to {FEWEST - 1} patients or rows'] if not about["mark"] else []),
        *_cells(built.parent / "cells.csv", rows, SmallCells(not about["mark"])),
    ]


def _cells(file: Path, checks: Sequence[Check], cells: SmallCells) -> list[str]:
    """The cells of both data sets, if a run has made them beside this build; a test part is a fifth of the patients."""
    if not file.exists():
        return []
    n = next(row.value for row in checks if (row.check, row.name) == ("outcome", "n"))
    names = ("dataset", "model", "metric", "g_tau", "mean", "standard_error", "n_splits", "n_trials")
    with file.open(newline="", encoding="utf-8") as handle:
        named = {tuple(row[name] for name in names[:4]): row for row in csv.DictReader(handle) if row["mean"]}
    found = [row for key, row in named.items() if key[0] in ("mimic", "mimic_seq")]  # once, though in several tables
    for row in found:
        for name in ("mean", "standard_error"):
            value = float(row[name] or "nan")
            row[name] = str(_shown(cells.statistic(value, int(n) // 5 if n.isdigit() else 1)))
    return ["", *markdown(names, [[row[name] for name in names] for row in found])]


def markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table as lines of Markdown."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (header, *rows)]
    return [lines[0], "|" + "---|" * len(header), *lines[1:]]


def about_of(built: Path) -> dict[str, Any]:
    """What build.json says of a finished build: its mark ("" for the real tables) and its options."""
    try:
        about: dict[str, Any] = json.loads((built / "build.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise MimicError(f"{built} is not a finished build; run `python -m benchmarks mimic build` first") from None
    return about


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _public(
    connection: duckdb.DuckDBPyConnection,
    cohort: Mapping[str, Any],
    flow: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Any],
    cells: SmallCells,
) -> Iterator[Check]:
    """Figures somebody published; invented tables and the demo have others, and are not judged by them."""
    left = cells.nested([row["left"] for row in flow])
    ours = {"adults": _adults(cohort["adults"], cells), "outcome": _outcome(columns, cells)}
    ours["original"] = _original(connection, left, cells)
    rows = [
        Check("rows", fact["table"], cohort["rows"][fact["table"]], fact["rows_v1_4"], "0%", source=_ROWS)
        for fact in facts("tables")
    ]
    rows += [
        Check("flow", f"rule {row['step']}", n, row["published"], row["within"], source=row["source"])
        for row, n in zip(flow, left, strict=True)
        if row["step"] != "2"  # which cannot be rebuilt
    ]
    rows += [Check(value=ours[fact["check"]].get(fact["name"], HIDDEN), **fact) for fact in facts("aggregates")]
    for row in rows:
        judged = cells.credentialed and row.published and not isinstance(row.value, str)
        judgement = verdict(row.value, row.published, row.within) if judged else NOT_JUDGED if row.published else ""
        yield row._replace(verdict=judgement)


def _adults(values: Mapping[str, float | None], cells: SmallCells) -> dict[str, Any]:
    """As computed in sql/aggregates.sql: counts, and of the admissions medians and shares."""
    n = int(values["hospital admissions"] or 0)
    shown: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            shown[name] = ""
        elif name in ("male share of admissions", "deaths in hospital per admission"):
            shown[name] = cells.share(round(n * value), n)
        elif name.startswith("median"):
            shown[name] = cells.statistic(value, n) if name == "median age" else cells.time(value, n)
        else:
            shown[name] = cells.count(int(value))
    return shown


def _original(
    connection: duckdb.DuckDBPyConnection, flow: Sequence[int | str], cells: SmallCells
) -> dict[str, int | float | str]:
    day, two_days = (count(connection, _ORIGINAL.format(hours=hours)) for hours in (24, 48))
    died = count(connection, _ORIGINAL.format(hours=24) + " AND died_here")
    processed = cells.count(count(connection, "labelled WHERE NOT is_lost"), *flow)
    over_day = cells.count(day, *flow, processed)
    return {
        "admissions with a processed series": processed,
        "of these a span over 24 h": over_day,
        "of these a span over 48 h": cells.count(two_days, *flow, processed, over_day),
        "of those over 24 h died in hospital": cells.count(died, day),
        "share of those over 24 h that died in hospital": cells.share(died, day),
    }


def _outcome(columns: Mapping[str, Any], cells: SmallCells) -> dict[str, Any]:
    event, time = columns["event"].astype(bool), columns["time"]
    values = {"n": cells.count(len(time)), "censoring_rate": cells.share(int((~event).sum()), len(time))}
    for kind, chosen in (("censored", time[~event]), ("observed", time[event])):
        for name, statistic in (("mean", np.mean), ("median", np.median)):
            values[f"{kind}_{name}"] = cells.time(statistic(chosen) if len(chosen) else 0.0, len(chosen))
    return values


def _columns(columns: Mapping[str, Any], systems: Any, cells: SmallCells) -> Iterator[Check]:
    """No minima and maxima, which are single patients' values; beyond a percentile lie at least ten patients."""
    for name, values in columns.items():
        if name in _IDS or name.startswith(_CODES):
            continue
        absent = np.isnan(values)
        parts = {system: (int(absent[systems == system].sum()), int((systems == system).sum())) for system in _SYSTEMS}
        shares = {system: cells.share(*part) for system, part in parts.items()}
        yield Check("share missing", name, cells.share(int(absent.sum()), len(values)))
        for system, share in shares.items():  # one of two shares and the whole's would give the other away
            yield Check(f"share missing, {system}", name, HIDDEN if HIDDEN in shares.values() else share)
        n = len(values) - int(absent.sum())
        for label, percent in (("median", 50), ("1st percentile", 1), ("99th percentile", 99)):
            value = float(np.nanpercentile(values, percent)) if n else np.nan
            yield Check(label, name, cells.statistic(value, n, least=FEWEST if percent == 50 else 100 * FEWEST))


def _series(observed: Mapping[str, Observed], cells: SmallCells) -> Iterator[Check]:
    for name, seen in observed.items():
        yield Check("share of hours observed", name, HIDDEN if cells.few(seen.patients) else seen.share)


def _groups(connection: duckdb.DuckDBPyConnection, cells: SmallCells) -> Iterator[Check]:
    """Counts of patients; where groups add up to the cohort, one small group hides all of them."""
    everyone = count(connection, "kept")
    patients = "kept JOIN feature USING (hadm_id) WHERE "
    single = {name: f"{patients}{name} = 1" for name in ("aids", "hem", "mets")}
    single |= {"age over 89": f"{patients}age > 89"}
    single |= {"admissions the notebook loses, of those in rule 4": "labelled WHERE is_lost"}
    single |= {"first record after INTIME: hour 23 ends past 24 h": "kept WHERE first_time > intime"}
    for name, rows in single.items():
        yield Check("count", name, cells.count(count(connection, rows), everyone))
    types = {f"admission type {code}": f"{patients}admissiontype = {code}" for code in (0, 1, 2)}
    for group in (types, {system: f"kept WHERE dbsource = '{system}'" for system in _SYSTEMS}):
        counts = {name: count(connection, rows) for name, rows in group.items()}
        few = any(cells.few(n) for n in counts.values())
        for name, n in counts.items():
            yield Check("count", name, HIDDEN if few else n)
