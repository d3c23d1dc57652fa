"""Archives are unpacked without links and without files beside the folder."""

import io
import tarfile
from pathlib import Path

import pytest

from benchmarks.results.files import unpack


def archive(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarFile:
    member, stream = tarfile.TarInfo(name), io.BytesIO()
    member.size, member.type, member.linkname = 0 if kind != tarfile.REGTYPE else 3, kind, "elsewhere"
    with tarfile.open(fileobj=stream, mode="w") as whole:
        whole.addfile(member, io.BytesIO(b"abc"))
    return tarfile.open(fileobj=io.BytesIO(stream.getvalue()))


def test_a_plain_file_is_written(tmp_path: Path) -> None:
    unpack(archive("model/1.pt"), tmp_path)
    assert (tmp_path / "model" / "1.pt").read_bytes() == b"abc"


@pytest.mark.parametrize(("name", "kind"), [("../out", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)])
def test_anything_else_is_refused(name: str, kind: bytes, tmp_path: Path) -> None:
    with pytest.raises(tarfile.TarError, match=f"got {name}"):
        unpack(archive(name, kind), tmp_path / "inside")
    assert not list(tmp_path.rglob("*"))
