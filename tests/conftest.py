"""Where tests find data that are not in the repository; what cannot be had is the reason of a skip."""

import fcntl
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from benchmarks import numerics

numerics.set_up()  # before anything loads numpy or torch: tests compute what runs compute

from benchmarks import data
from benchmarks.data import Dataset, DataUnavailable
from benchmarks.data.settings import data_folders

ROOT = Path(__file__).resolve().parents[1]
# Data that may not be in the repository, where they lie beside it.
if (BESIDE := ROOT.parent / "shared" / "data").is_dir():
    os.environ.setdefault("SODEN_DATA", str(BESIDE))


def beside(name: str) -> Path:
    """A file or folder of the data folders, such as released-splits; it is in no repository and no registry."""
    for folder in data_folders():
        if (path := folder / name).exists():
            return path
    pytest.skip(f"needs {name}: not in the data folders; set SODEN_DATA to a folder that has it")


@pytest.fixture(scope="session")
def load_public(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Dataset]:
    """SUPPORT and METABRIC by name, from whichever source has them; what is fetched stays in the user's cache."""
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent  # the one folder that all workers of a run share

    @cache
    def ask(name: str) -> Dataset | str:
        """The data set, or why it cannot be had: the first process asks, the others wait and take its answer."""
        failed = run / f"{name}.failed"
        with (run / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if failed.exists():
                return failed.read_text()
            try:
                return data.load(name)
            except DataUnavailable as error:
                last = ": ".join(error.tried[-1])
                failed.write_text(f"needs {error.label}; the last of its {len(error.tried)} sources is {last}")
                return failed.read_text()

    def load(name: str) -> Dataset:
        answer = ask(name)
        if isinstance(answer, str):
            pytest.skip(answer)
        return answer

    return load
