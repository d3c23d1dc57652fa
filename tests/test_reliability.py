"""Full disks, read-only folders and GPUs we do not have: each is met before it meets a user."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT

from benchmarks import registry
from benchmarks.data.simulated import simulate
from benchmarks.data.splits import make_split
from benchmarks.study import journal
from benchmarks.study.tune import Tuner
from soden.types import FitOptions

PAIRS = [(1, t) for t in range(4)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root and a kernel that lets us")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def make_tuner(folder: Path, tmp_path: Path) -> Tuner:
    dataset = simulate(200, seed=1)
    make_split(dataset, "drawn", 1, seed=1).save(tmp_path / "splits" / "1.npz")
    return Tuner(folder, dataset, tmp_path / "splits", "deepsurv", 3, {"max_epochs": 1}, device="cpu")


def test_a_full_disk_stops_the_job_and_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    tuner = make_tuner(small_disk / "trials", tmp_path)
    first = tuner.run("0000", PAIRS[:1])
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left on device"):
        filler.write_bytes(b"x" * 2**20)
    with pytest.raises(OSError, match="No space left on device"):
        tuner.run("0000", PAIRS)
    filler.unlink()
    rows = tuner.run("0000", PAIRS)
    assert rows[0] == json.loads(json.dumps(first[0]))  # read back, not run again: even its seconds are the same
    assert [r["trial"] for r in rows] == [0, 1, 2, 3]
    assert len({(r["split"], r["trial"]) for r in journal.read(small_disk / "trials" / "0000.jsonl")}) == 4


def test_a_read_only_results_folder_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where a folder should be")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "run", "quick", "--directory", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert "cannot write to" in done.stdout
    assert "make it writable" in done.stdout.replace("\n", " ")


NEURAL = [name for name in registry.names() if registry.is_searched(name)]
HYPER: dict[str, Any] = {"layers": 2, "width": 8, "gru_width": 4, "lr": 1e-3, "weight_decay": 0.0, "momentum": 0.9}
HYPER |= {"batch_size": 64, "dropout": 0.1, "batch_norm": True, "intervals": 10, "alpha": 0.5, "sigma": 1}


@pytest.fixture
def meta_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let code that looks at values go on under tensors that have none."""
    from torch.fx.experimental import _config

    monkeypatch.setattr(torch.Tensor, "__bool__", lambda self: True)
    with _config.patch(meta_nonzero_assume_all_nonzero=True):
        yield


@pytest.mark.usefixtures("meta_only")
@pytest.mark.parametrize("name", NEURAL)
@pytest.mark.parametrize("with_series", [False, True])
def test_no_tensor_is_left_on_the_wrong_device(name: str, with_series: bool) -> None:
    """A training step on the meta device: any tensor made on, or left on, the CPU by mistake is an error, as on a GPU.

    Fake CUDA tensors would name the device, but a CPU build of torch cannot differentiate them.
    """
    from soden.training import Batch

    model_class = registry.model(name)
    if with_series and not model_class.takes_seq:
        pytest.skip(f"{name} takes no series")
    data = data_with_series() if with_series else plain_data()
    model: Any = model_class(HYPER, FitOptions(max_epochs=1, device="cpu"))
    with pytest.MonkeyPatch.context() as real:
        real.setattr(torch.Tensor, "__bool__", BOOL)
        model.fit(data, data, seed=1)
    batch = model.batch(data, torch.device("cpu"))
    model.net = model._network().to("meta").train()
    meta = [None if t is None else t.to("meta") for t in (batch.x, batch.seq, *batch.target)]
    loss = model.loss(Batch(meta[0], meta[1], tuple(meta[2:])))
    loss.backward()
    assert loss.device.type == "meta"
    assert all(p.grad is not None and p.grad.device.type == "meta" for p in model.net.parameters())
    with pytest.raises(RuntimeError, match=r"meta"):  # the check bites: a target left on the CPU is noticed
        model.loss(Batch(meta[0], meta[1], batch.target)).backward()


BOOL = torch.Tensor.__bool__


def plain_data() -> Any:
    from benchmarks.data.preprocess import Preprocessor

    dataset = simulate(200, seed=1)
    return Preprocessor.fit(dataset).transform(dataset)


def data_with_series() -> Any:
    import numpy as np

    from soden.types import SurvivalData

    base = plain_data()
    series = np.random.default_rng(0).normal(size=(len(base), 6, 3))
    return SurvivalData(base.time, base.event, base.x, series)
