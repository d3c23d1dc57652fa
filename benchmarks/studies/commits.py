"""Find the commit of each code identity of a run: the first one whose files give that fingerprint.

Rows name the code that made them by a fingerprint of the files a model imports (`benchmarks.code`). This walks through
the history of the repository, oldest first, and writes commits.csv into the run: code, commit, date.
"""

from __future__ import annotations

import argparse
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pandas as pd

from benchmarks import ROOT, code, data
from benchmarks.data.files import replacing
from benchmarks.results.files import read_parquet, unpack
from benchmarks.results.folder import find_run
from benchmarks.results.replications import COMMITS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Command-line form."""
    parser.add_argument("--run", dest="names", nargs="+", default=["reference", "beyond"], help="finished runs")
    parser.add_argument("--directory", type=Path, default=ROOT, help="where results/ is")


def run(args: argparse.Namespace) -> int:
    """Write commits.csv; a code that no commit has was never committed, and is said so."""
    folders = [find_run(name, args.directory / "results") for name in args.names]
    asked: dict[Path, set[tuple[str, str, bool]]] = {}
    for folder in folders:
        trials = read_parquet(folder / "trials.parquet", columns=["dataset", "model", "code"]).drop_duplicates()
        asked[folder] = {(r.code, r.model, data.has_series(r.dataset)) for r in trials.itertuples()}
    found = search(set().union(*asked.values()))
    for folder, codes in asked.items():
        rows = sorted({(c, *found[c]) for c, _, _ in codes if c in found}, key=lambda row: row[2:])
        with replacing(folder / COMMITS) as part:
            pd.DataFrame(rows, columns=["code", "commit", "date"]).to_csv(part, index=False)
        missing = sorted({c for c, _, _ in codes} - set(found))
        print(f"{folder / COMMITS}: {len(rows)} codes" + (f"; in no commit: {', '.join(missing)}" if missing else ""))
    return 0


def search(wanted: set[tuple[str, str, bool]]) -> dict[str, tuple[str, str]]:
    """Code -> its first commit and that commit's date."""
    left, found = set(wanted), dict[str, tuple[str, str]]()
    for commit, date in _history():
        if not left:
            break
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for one in sorted(left) if _unpack(commit, root) else ():
                then, model, series = one
                if _code(model, series, root) == then:
                    found.setdefault(then, (commit, date))
                    left.discard(one)
    return found


def _history() -> Iterator[tuple[str, str]]:
    """Commits that changed the code, oldest first, and their dates."""
    words = ["git", "-C", str(ROOT), "log", "--reverse", "--format=%H %cs", "--", *code.PACKAGES]
    for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines():
        commit, date = line.split()
        yield commit, date


def _unpack(commit: str, root: Path) -> bool:
    """Write the packages as they were; False if the commit, or a package in it, is not there."""
    words = ["git", "-C", str(ROOT), "archive", commit, "--", *code.PACKAGES]
    done = subprocess.run(words, capture_output=True)
    if done.returncode:
        return False
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        unpack(archive, root)
    return True


def _code(model: str, series: bool, root: Path) -> str:
    try:
        return code.of_model(model, series, root)
    except (OSError, SyntaxError):
        return ""
