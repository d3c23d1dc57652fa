"""Build the wheel and the source archive of `soden`, the same bytes wherever and whenever: `make dist`.

Built is a copy of the files that git tracks, with fixed times and permissions, so that neither the clock, the umask nor
what lies about in the folder gets in. The time is that of the last commit, or SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("soden", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
BUILD = "import sys; from setuptools import build_meta as b; out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)"


def copy(target: Path) -> None:
    """Copy the tracked files that are built, as they are in this folder."""
    listed = subprocess.run(["git", "ls-files", *PARTS], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
        (target / name).chmod(0o644)


def packed_again(archive: Path, time: int) -> None:
    """Pack a source archive again, with its members sorted, owned by nobody in particular and of one time."""
    text = io.BytesIO()
    with tarfile.open(archive) as source, tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as target:
        for member in sorted(source.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid = time, 0, 0
            member.uname, member.gname, member.pax_headers = "", "", {}
            member.mode = 0o755 if member.isdir() else 0o644
            target.addfile(member, source.extractfile(member) if member.isfile() else None)
    archive.write_bytes(gzip.compress(text.getvalue(), 9, mtime=time))


def build(out: Path) -> list[Path]:
    """Write both files into `out`."""
    commit = ["git", "log", "-1", "--format=%ct"]
    time = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(commit, cwd=ROOT, text=True).strip()
    out.mkdir(parents=True, exist_ok=True)
    umask = os.umask(0o022)
    try:
        with tempfile.TemporaryDirectory() as folder:
            source, dist = Path(folder) / "source", Path(folder) / "dist"
            copy(source)
            environ = os.environ | {"SOURCE_DATE_EPOCH": time}
            command = [sys.executable, "-c", BUILD, str(dist)]
            done = subprocess.run(command, cwd=source, env=environ, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            for archive in dist.glob("*.tar.gz"):
                packed_again(archive, int(time))
            return [Path(shutil.copy(path, out)) for path in sorted(dist.iterdir())]
    finally:
        os.umask(umask)


def main() -> None:
    """Build, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder to write to; default: dist")
    for path in build(parser.parse_args().out):
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}")


if __name__ == "__main__":
    main()
