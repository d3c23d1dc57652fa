"""The folder a build is written to: its own, ignored by git, and closed to other users if the data are credentialed."""

import os
from pathlib import Path

from benchmarks.data.mimic3.tables import MimicError

MADE = {"cohort.parquet", "icustays.parquet", "cohort.json", "events", "stays.parquet", "mimic.parquet"}
MADE |= {"mimic_seq.parquet", "flow.csv", "checks.csv", "build.json", "raw"}  # raw: invented tables of a run
_IGNORE = "# Built from MIMIC-III: credentialed data under its data use agreement. Never commit or share.\n*\n"


def claim(raw: Path, out: Path) -> None:
    """Make the folder, and its .gitignore before anything else; refuse one that holds other things than a build."""
    if os.path.realpath(raw) == os.path.realpath(out):  # which, unlike resolve, takes a loop of links
        raise MimicError(f"--out is the folder of the raw tables, {raw}; give a folder of its own to what is built")
    if out.exists() and not out.is_dir():
        raise MimicError(f"{out} is a file; give a folder to write to")
    ignore = out / ".gitignore"
    foreign = sorted(path.name for path in out.iterdir() if path.name not in MADE) if out.is_dir() else []
    foreign = [name for name in foreign if not name.startswith(".") or name == ".git"]
    if ignore.exists() and ignore.read_text(encoding="utf-8") != _IGNORE:
        foreign.append(ignore.name)
    if foreign:
        raise MimicError(
            f"{out} holds {', '.join(foreign[:3])}{', ...' if foreign[3:] else ''}, which no build writes; "
            "give a new folder, because all of it will be ignored by git and closed to other users"
        )
    out.mkdir(parents=True, exist_ok=True)
    ignore.write_text(_IGNORE, encoding="utf-8")


def close(out: Path, mark: str) -> None:
    """Let only the owner read what was built from the real tables (those without a mark): 0700 and 0600."""
    if not mark:
        out.chmod(0o700)
        for path in out.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o700 if path.is_dir() else 0o600)
