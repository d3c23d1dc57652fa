"""From the raw tables to both data sets; a build that fails leaves nothing behind."""

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.data.mimic3.cohort import build_cohort
from benchmarks.data.mimic3.events import TABLES, build_events
from benchmarks.data.mimic3.features import MARKER, build_features
from benchmarks.data.mimic3.folder import claim, close
from benchmarks.data.mimic3.options import MimicOptions


def build(raw_dir: Path, out_dir: Path, options: MimicOptions | None = None) -> None:
    """All stages in a hidden folder inside `out_dir`, moved up only when every file is complete."""
    options = options or MimicOptions()
    raw_dir, out_dir = Path(raw_dir), Path(out_dir)
    new = not out_dir.exists()
    claim(raw_dir, out_dir)
    staging = Path(tempfile.mkdtemp(dir=out_dir, prefix=".building-"))
    try:
        mark = build_cohort(raw_dir, staging, options)
        for table in TABLES:
            build_events(raw_dir, staging, table, options)
        build_features(staging, options)
        close(out_dir, mark)
        _move(staging, out_dir)
        close(out_dir, mark)
    finally:
        shutil.rmtree(staging)
        if new and not (out_dir / "cohort.json").exists():  # nothing was moved
            shutil.rmtree(out_dir)


def _move(staging: Path, out: Path) -> None:
    """Old marker away, data, new marker: whenever this is interrupted, a marker stands beside its own data only."""
    (out / MARKER).unlink(missing_ok=True)
    files = (path for path in staging.rglob("*") if path.is_file())
    for file in sorted(files, key=lambda path: (path.name == MARKER, path)):
        target = out / file.relative_to(staging)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, target)
