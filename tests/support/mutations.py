"""Small slips put into the code one by one, and the tests that must notice: `python tests/support/mutations.py [WORD]`.

Each slip of `slips.txt` is made in a copy of this repository, the tests it names are run there, the copy is restored.
Prints a table `slip -> caught by` and exits 1 if a slip survives. Words choose slips by file or description. The copy
has no data and is told of none, so a test that would need them is skipped and catches nothing. Takes some minutes;
pytest does not collect it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("slips.txt")
PACKAGES = ("benchmarks", "soden", "baselines")
# Loaded once, before the processes part: else every slip would wait for them.
LIBRARIES = ("numpy", "torch", "numba", "pandas", "scipy.stats", "pytest", "pycox.models", "lifelines")
OK, FAILED = 0, 1  # pytest's; other codes mean that no test ran


# A string, a name or number, or one sign; a comma before a closing bracket is left to the formatter.
TOKEN = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\w+|[^\w\s]')


class Slip(NamedTuple):
    """What goes wrong where, and the tests that must fail."""

    file: str
    what: str
    tests: tuple[str, ...]
    old: str
    new: str


def read_slips() -> Iterator[Slip]:
    """The table: paths alone on a line; `what: tests`, then lines of old text (-) and of new text (+)."""
    file, lines = "", [*TABLE.read_text().splitlines(), ""]
    start = 0
    for number, line in enumerate(lines):
        if number < start or not line or line.startswith("#"):
            continue
        if ": " not in line:
            file = line
            continue
        what, _, tests = line.partition(": ")
        texts = {"-": [], "+": []}  # type: dict[str, list[str]]
        start = number + 1
        while lines[start][:1] in texts:
            texts[lines[start][0]].append(lines[start][2:])
            start += 1
        if texts["-"] == texts["+"]:
            raise SystemExit(f"{file}, {what}: nothing is changed; mend {TABLE.name}")
        paths = tuple(path for name in tests.split() for path in _tests(name))
        yield Slip(file, what, paths, "\n".join(texts["-"]), "\n".join(texts["+"]))


def places(text: str, old: str) -> list[tuple[int, int]]:
    """Where the tokens of `old` stand in `text`, whatever the line breaks and spaces: (start, end) in characters."""
    stream = [(m.group(), *m.span()) for m in TOKEN.finditer(text) if not _before_bracket(m, text)]
    wanted = [m.group() for m in TOKEN.finditer(old) if not _before_bracket(m, old)]
    words, n = [token for token, _, _ in stream], len(wanted)
    starts = [i for i in range(len(words) - n + 1) if words[i : i + n] == wanted]
    return [(stream[i][1], stream[i + n - 1][2]) for i in starts]


def _before_bracket(match: re.Match[str], text: str) -> bool:
    return match.group() == "," and text[match.end() :].lstrip()[:1] in ("]", ")", "}")


def changed(text: str, slip: Slip) -> str:
    """The text with the slip in it."""
    ((start, end),) = places(text, slip.old)
    return text[:start] + slip.new.lstrip() + text[end:]


@cache
def _tests(name: str) -> tuple[str, ...]:
    """All tests that begin like guards_study::each_split, as pytest wants them."""
    stem, _, start = name.partition("::")
    path = next((ROOT / "tests").glob(f"*/test_{stem}.py"))
    found = re.findall(rf"^def (test_{start}\w*)\(", path.read_text(), re.MULTILINE)
    if not found:
        raise SystemExit(f"test_{stem}.py has no test that begins with test_{start}; mend {TABLE.name}")
    return tuple(f"{path.relative_to(ROOT)}::{test}" for test in found)


def copied(folder: Path) -> Path:
    """The files git knows of, or would add, with whatever is in them now."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (source := ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, folder / name)
    return folder


def settle(copy: Path) -> None:
    """Import from the copy, look for data nowhere, load the libraries under the numerics of the tests."""
    os.chdir(copy)
    os.environ |= {"SODEN_DATA": str(copy / "no-data"), "SODEN_CACHE": str(copy / "no-cache"), "PYTHONPATH": str(copy)}
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # two slips in one second would leave the first one's behind
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(copy), str(copy / "tests")]
    import_module("benchmarks.numerics").set_up()
    for name in LIBRARIES:
        import_module(name)
    for name in [n for n in sys.modules if n.split(".")[0] in PACKAGES]:
        del sys.modules[name]


def run(tests: list[str], log: Path) -> int:
    """Pytest's exit code, from a process of its own; what it says goes to `log`."""
    if (child := os.fork()) == 0:
        code = 3
        try:
            with log.open("wb") as file:
                os.dup2(file.fileno(), 1), os.dup2(file.fileno(), 2)
            import pytest

            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
        except Exception:
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def caught_by(slip: Slip, copy: Path) -> str:
    """The first test that fails with the slip in the copy; empty if none does."""
    path, log = copy / slip.file, copy / "pytest.log"
    text = path.read_text()
    if (n := len(places(text, slip.old))) != 1:
        raise SystemExit(f"{slip.file} holds {slip.old!r} {n} times; mend {TABLE.name}")
    path.write_text(changed(text, slip))
    code = run(list(slip.tests), log)
    path.write_text(text)
    if code not in (OK, FAILED):
        raise SystemExit(f"{slip.file}, {slip.what}: pytest ended with {code}\n{log.read_text()}")
    found = re.search(r"^FAILED \S+?::(\w+)", log.read_text(), re.MULTILINE)
    return found.group(1) if found else ""


def main(words: list[str]) -> int:
    """Make every chosen slip."""
    chosen = [slip for slip in read_slips() if not words or any(w in f"{slip.file} {slip.what}" for w in words)]
    every = sorted({test for slip in chosen for test in slip.tests})
    if not chosen:
        raise SystemExit(f"no slip has {' or '.join(words)} in its file or description")
    started, survived = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder) / "copy")
        settle(copy)
        if run(every, copy / "pytest.log") != OK:
            raise SystemExit("the tests fail without any slip:\n" + (copy / "pytest.log").read_text())
        for slip in chosen:
            test = caught_by(slip, copy)
            survived += not test
            print(f"{slip.file}: {slip.what} -> {test or 'SURVIVED'}", flush=True)
    minutes = (time.monotonic() - started) / 60
    print(f"{len(chosen) - survived} of {len(chosen)} slips caught by {len(every)} tests in {minutes:.0f} minutes")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
