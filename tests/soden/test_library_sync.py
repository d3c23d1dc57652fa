"""Within an epoch nothing waits for a GPU: a fake accelerator counts how often training asks it for a value."""

import os
import subprocess
import sys

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from soden.models import Soden, SodenCox, SodenPH
from soden.training import run_training
from soden.types import FitOptions, SurvivalData

HYPER = {"width": 8, "layers": 2, "lr": 1e-3, "weight_decay": 1e-2, "batch_size": 16, "solver": "fast"}
EPOCHS = 2


def data(n):
    rng = np.random.default_rng(0)
    y = rng.exponential(size=n) + 1e-3
    return SurvivalData(y, np.ones(n), rng.normal(size=(n, 3)), entry=y / 2, weight=rng.random(n) + 0.1)


def asked(model_class, n):
    """Values that EPOCHS epochs of n // 16 batches, with entries and weights, read from the accelerator."""
    model = model_class(HYPER, FitOptions(max_epochs=1))
    model.fit(data(32), data(32), seed=1)  # really, on the CPU, so that all parts are there
    batch = model.batch(data(n), torch.device("cpu"))
    count = 0

    def read(self):
        nonlocal count
        count += self.device.type == "gpu"
        return 0.5

    with FakeTensorMode():

        def bare(t):
            return torch.empty(t.shape, dtype=t.dtype, device="gpu:0")

        for module in model.net.modules():
            for name, p in module.named_parameters(recurse=False):
                module._parameters[name] = torch.nn.Parameter(bare(p))
        whole = type(batch)(
            bare(batch.x), None, tuple(bare(t) for t in batch.target), bare(batch.entry), bare(batch.weight)
        )
        was = torch.Tensor.__float__, torch.Tensor.__bool__, torch.Tensor.item
        torch.Tensor.__float__ = torch.Tensor.item = read
        torch.Tensor.__bool__ = lambda self: bool(read(self))
        try:
            run_training(
                model.net,
                n,
                lambda rows: model.loss(whole.take(rows)),
                lambda: 1.0,  # validation asks once per block, between epochs
                HYPER,
                FitOptions(max_epochs=EPOCHS),
                seed=1,
            )
        finally:
            torch.Tensor.__float__, torch.Tensor.__bool__, torch.Tensor.item = was
    return count


def test_an_epoch_asks_once_however_many_batches_it_has():
    """In a process of its own, because torch cannot forget a backend."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"{name}:{EPOCHS}:{EPOCHS}" for name in ("soden", "soden_ph", "soden_cox")]


if __name__ == "__main__":
    _setup_privateuseone_for_python_backend("gpu")
    for kind in (Soden, SodenPH, SodenCox):
        print(f"{kind.name}:{asked(kind, 32)}:{asked(kind, 160)}")
    sys.stdout.flush()
    os._exit(0)  # torch's CUDA build may abort while it takes the made-up backend down
