"""Write the tables and page of the reference, and the figures that git keeps: `make numbers`; `--check` only compares.

results/reference gets tables/ and report.html, figures/ the PDFs of the reference and of the beyond tier. The page
holds its pictures, so that no PNG is kept beside but those that README and docs show.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import numerics

numerics.set_up()

from benchmarks.commands import report
from benchmarks.results.folder import read_results

SHOWN = {
    "reference": ("headline.png", "simulation.png", "enough_support.png", "enough_metabric.png"),
    "beyond": ("heat_map.png",),
}  # by README and docs
FOLDERS = ("figures/reference", "figures/beyond", "results/reference/tables")  # nothing else is kept in these
LIBRARY = Path("figures/reference/library.png")  # by examples/quickstart.py
LARGEST = 3_000_000  # bytes of the page


def make(name: str, out: Path) -> None:
    """All of one kept run in folders as they stand in the repository."""
    run = read_results(ROOT / "results" / name)
    results, drawn, all_figures = out / "results" / name, out / "figures" / name, out / "drawn"
    report.figures(run, all_figures)
    for path in all_figures.iterdir():
        if path.suffix == ".pdf" or path.name in SHOWN[name]:
            drawn.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, drawn)
    if name == "reference":
        report.tables(run, results / "tables")
        report.page(run, results, all_figures)
        for file in ("agreement", "claims", "rankings"):  # `reference renew` writes these
            (results / f"{file}.csv").unlink()
        size = (results / "report.html").stat().st_size
        if size > LARGEST:
            raise SystemExit(f"the reference's page has {size:,} bytes; at most {LARGEST:,} are kept in the repository")
    shutil.rmtree(all_figures)


def main() -> int:
    """Write or compare; say what differs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for name in ("reference", "beyond"):
            make(name, out)
        made = [path for path in sorted(out.rglob("*")) if path.is_file()]
        changed = [path for path in made if _bytes(ROOT / path.relative_to(out)) != path.read_bytes()]
        names = {path.relative_to(out) for path in made}
        kept = {path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).iterdir()}
        stale = sorted(kept - names - {LIBRARY})
        if "--check" not in sys.argv:
            for path in changed:
                target = ROOT / path.relative_to(out)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            for name in stale:
                (ROOT / name).unlink()
        differ = [path.relative_to(out) for path in changed] + stale
        for name in differ:
            print(name)
    print(f"{len(differ)} of {len(made)} kept tables, pages and figures {'differ' if differ else 'are up to date'}")
    return int(bool(differ) and "--check" in sys.argv)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


if __name__ == "__main__":
    raise SystemExit(main())
