"""The same bits on every x86-64 processor: what is set, when it is too late, and rows under emulated processors."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from benchmarks import numerics, registry

TRIALS = ROOT / "tests" / "support" / "short_trials.py"
PROCESSORS = ("Haswell", "Icelake-Server", "EPYC-Milan")
CLEAN = {k: v for k, v in os.environ.items() if k not in (*numerics.PORTABLE, numerics.VARIABLE)}


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=CLEAN | environment)


def last_line(code: str, **environment: str) -> str:
    done = python(code, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


SHOW = "import os; print([os.environ.get(k) for k in ('SODEN_NUMERICS', 'ATEN_CPU_CAPABILITY', 'OPENBLAS_CORETYPE')])"


def test_torch_that_was_loaded_with_other_arithmetic_is_found_out() -> None:
    """The variables say portable, torch was loaded before they did."""
    code = (
        "import torch, os; torch.ones(99).exp(); from benchmarks import numerics; "
        "os.environ.update(numerics.PORTABLE | {numerics.VARIABLE: 'portable'}); numerics.kind()"
    )
    done = python(code, ATEN_CPU_CAPABILITY="default")
    assert "where portable numerics were asked for: it was loaded too early" in done.stderr


@pytest.mark.parametrize(
    "door", ["-m benchmarks data list simulated", "-m pytest --collect-only -q tests/study/test_journal.py"]
)
def test_every_door_settles_them_first(door: str, tmp_path: Path) -> None:
    """A numpy of ours says what it finds when it is loaded."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Spy:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('numpy', 'torch'):\n"
        "            with open(os.environ['SPY'], 'a') as file:\n"
        "                print(name, os.environ.get('ATEN_CPU_CAPABILITY'), file=file)\n"
        "sys.meta_path.insert(0, Spy())\n"
    )
    done = subprocess.run(
        [sys.executable, *door.split()],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=CLEAN | {"PYTHONPATH": str(tmp_path), "SPY": str(tmp_path / "seen")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line.split()[1] for line in (tmp_path / "seen").read_text().splitlines()} == {"avx2"}


def test_every_job_of_the_workflow_that_computes_is_told() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    rules = [rule for rule in re.split(r"^rule ", text, flags=re.MULTILINE) if "environment=environment," in rule]
    assert {name for rule in rules for name in re.findall(r'job\("(\w+)"', rule)} == {"tune", "evaluate", "simulate"}
    assert all('{params.environment} "$SODEN_PYTHON" -m benchmarks' in rule for rule in rules)


def test_the_library_alone_sets_nothing() -> None:
    code = f"import os; before = dict(os.environ); import soden; assert dict(os.environ) == before; {SHOW}"
    assert last_line(code) == "[None, None, None]"


# numpy's AVX2 sorting, which rounds nothing, crashes under qemu 7.2 once scipy.stats is loaded.
WITHOUT_AVX2 = "from benchmarks import numerics; numerics.PORTABLE['NPY_DISABLE_CPU_FEATURES'] += ' X86_V3'"


def rows(*emulator: str) -> list[str]:
    command = [*emulator, sys.executable, str(TRIALS)]
    if emulator:
        command[-1:] = ["-c", f"import runpy; {WITHOUT_AVX2}; runpy.run_path({str(TRIALS)!r}, run_name='__main__')"]
    done = subprocess.run(command, capture_output=True, text=True, env=CLEAN | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here() -> list[str]:
    """Made natively; also leaves the compiled kernels behind, so that an emulator need not compile."""
    found = rows()
    if found[0] != '"portable"':
        pytest.skip(f"this machine computes {found[0]}, so there is nothing to compare")
    assert len(found) == 1 + len(registry.names()) + 3  # the kind of numerics, all models, two wide, one with series
    return found


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
def test_rows_and_curves_are_the_same_on_other_processors(processor: str, here: list[str]) -> None:
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("needs qemu-x86_64 (Debian's package qemu-user) to play another processor")
    assert rows(emulator, "-cpu", processor) == here
