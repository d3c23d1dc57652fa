"""Device mistakes without a GPU: a training step of every network where nothing may be left on the CPU.

A CPU build of torch can neither slice nor differentiate fake CUDA tensors, so an accelerator of another name stands in
for CUDA under FakeTensorMode. What fake tensors cannot do (a GRU, a mask whose size depends on values) is checked on
the meta device, which cannot be mixed with the CPU either.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from baselines.space import draw, resolve
from benchmarks import registry
from benchmarks.data.preprocess import Preprocessor
from benchmarks.data.simulated import simulate
from soden.training import Batch, NeuralModel
from soden.types import FitOptions, SurvivalData

NEURAL = [name for name, model in registry.models().items() if issubclass(model, NeuralModel)]
FAKED = [name for name in NEURAL if name != "cox_time"]  # which counts the risk sets of a batch, so it needs values
HYPER: dict[str, Any] = {"layers": 2, "width": 8, "gru_width": 4, "lr": 1e-3, "weight_decay": 0.0, "momentum": 0.9}
HYPER |= {"batch_size": 64, "dropout": 0.0, "batch_norm": True, "intervals": 10, "alpha": 0.5, "sigma": 1}
BOOL = torch.Tensor.__bool__
ROOT = Path(__file__).resolve().parents[2]


def plain_data() -> SurvivalData:
    dataset = simulate(200, seed=1)
    return Preprocessor.fit(dataset).transform(dataset)


def data_with_series() -> SurvivalData:
    base = plain_data()
    series = np.random.default_rng(0).normal(size=(len(base), 6, 3))
    return SurvivalData(base.time, base.event, base.x, series)


def fitted(name: str, data: SurvivalData) -> tuple[Any, Batch]:
    """A real model after a real epoch, and a batch for it; both on the CPU."""
    space = resolve(registry.model(name).space, {"batch_size": (64,), "intervals": (10,)})
    others = draw(space, lambda _: np.random.default_rng(0), "truncate")  # what only this model has
    model: Any = registry.model(name)(others | HYPER, FitOptions(max_epochs=1, device="cpu"))
    with pytest.MonkeyPatch.context() as real:
        real.setattr(torch.Tensor, "__bool__", BOOL)
        model.fit(data, data, seed=1)
    return model, model.batch(data, torch.device("cpu"))


def move(net: torch.nn.Module, batch: Batch, device: str) -> Batch:
    """Parameters, buffers and batch without values on another device."""

    def bare(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)

    for module in net.modules():
        for name, parameter in module.named_parameters(recurse=False):
            module._parameters[name] = torch.nn.Parameter(bare(parameter))
        for name, buffer in module.named_buffers(recurse=False):
            module._buffers[name] = bare(buffer)
    net.train()
    seq = None if batch.seq is None else bare(batch.seq)
    return Batch(bare(batch.x), seq, tuple(bare(t) for t in batch.target))


@pytest.fixture(autouse=True)
def no_values(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let code that looks at values go on under tensors that have none."""
    from torch.fx.experimental import _config

    monkeypatch.setattr(torch.Tensor, "__bool__", lambda self: True)
    with _config.patch(meta_nonzero_assume_all_nonzero=True):
        yield


def test_a_training_step_stays_on_a_fake_accelerator() -> None:
    """In a process of its own, because torch cannot forget a backend."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == FAKED


@pytest.mark.parametrize(
    ("name", "with_series"),
    [*((name, False) for name in NEURAL), *((name, True) for name in NEURAL if registry.model(name).takes_seq)],
)
def test_no_tensor_is_left_on_the_wrong_device(name: str, with_series: bool) -> None:
    model, batch = fitted(name, data_with_series() if with_series else plain_data())
    moved = move(model.net, batch, "meta")
    loss = model.loss(moved)
    loss.backward()
    assert loss.device.type == "meta"
    assert all(p.grad is not None and p.grad.device.type == "meta" for p in model.net.parameters())
    with pytest.raises(RuntimeError, match=r"meta"):  # the check bites
        model.loss(Batch(moved.x, moved.seq, batch.target)).backward()


def main() -> None:
    """A step of each model under FakeTensorMode; any tensor made on, or left on, the CPU is an error, as on a GPU."""
    device = "gpu:0"
    _setup_privateuseone_for_python_backend("gpu")  # before any backward pass: that is when torch counts its devices
    models = {name: fitted(name, plain_data()) for name in FAKED}
    torch.Tensor.__bool__ = lambda self: True  # type: ignore[method-assign]
    for name, (model, batch) in models.items():
        with FakeTensorMode():
            moved = move(model.net, batch, device)
            loss = model.loss(moved)
            loss.backward()
            assert str(loss.device) == device
            assert {str(p.grad.device) for p in model.net.parameters()} == {device}
            left = tuple(torch.empty(t.shape, dtype=t.dtype) for t in batch.target)
            with pytest.raises(RuntimeError, match="device"):  # the check bites: a target left on the CPU is noticed
                model.loss(Batch(moved.x, None, left))
        print(name)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch's CUDA build may abort while it takes the made-up backend down
