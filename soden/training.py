"""The one training loop: RMSProp, clipping, early stopping with the best state restored (Section 5.4)."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from soden.backends import mlp, rmsprop, serves
from soden.nets import MLP, Encoder, seeded
from soden.progress import counted
from soden.types import Diverged, Features, FitOptions, FitReport, FloatArray, SurvivalData, SurvivalModel


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of some subjects; `target` is whatever the model's `targets` made of time and event."""

    x: Tensor
    seq: Tensor | None
    target: tuple[Tensor, ...]
    entry: Tensor | None = None
    weight: Tensor | None = None

    def take(self, index: Tensor | slice) -> Batch:
        """The given rows."""
        seq, entry, weight = (None if t is None else t[index] for t in (self.seq, self.entry, self.weight))
        return Batch(self.x[index], seq, tuple(t[index] for t in self.target), entry, weight)

    def __len__(self) -> int:
        return len(self.x)


def resolve_device(device: str) -> torch.device:
    """'auto' is the GPU if there is one."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def flatten_parameters(net: nn.Module) -> nn.Parameter:
    """Move all weights into one vector and make the module's own parameters views of it.

    RMSProp and the gradient norm then cost a handful of kernels instead of a handful per layer: half of a small
    network's step otherwise. Values and gradients stay those of the module.
    """
    parameters = [p for p in net.parameters() if p.requires_grad]
    flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parameters]))
    flat.grad = torch.zeros_like(flat)
    starts: dict[Tensor, int] = {}
    start = 0
    for p in parameters:
        end = start + p.numel()
        p.data = flat.data[start:end].view_as(p)
        p.grad = flat.grad[start:end].view_as(p)
        starts[p], start = start, end
    for module in net.modules():
        if isinstance(module, MLP):
            module.live_in(flat, starts[module.first.weight])
    return flat


class RMSProp:
    """torch.optim.RMSprop's arithmetic on one vector, in place; its bookkeeping costs more than the sums."""

    def __init__(self, weights: Tensor, lr: float, weight_decay: float, momentum: float, largest: float) -> None:
        self.weights, self.lr, self.weight_decay, self.momentum = weights.detach(), lr, weight_decay, momentum
        self.largest = largest  # gradients longer than this are cut to it
        self.mean_square = torch.zeros_like(self.weights)
        self.velocity = torch.zeros_like(self.weights)
        self.compiled = serves(self.weights)

    def step(self, gradient: Tensor) -> None:
        """Clip and update; alpha = 0.99 and eps = 1e-8 are torch's defaults. The gradient is not kept."""
        if self.compiled:
            vectors = (self.weights, gradient, self.mean_square, self.velocity)
            rmsprop.step(*vectors, self.lr, self.weight_decay, self.momentum, self.largest)
            return
        clip(gradient, self.largest)
        gradient = gradient.add(self.weights, alpha=self.weight_decay)
        self.mean_square.mul_(0.99).addcmul_(gradient, gradient, value=1 - 0.99)
        size = self.mean_square.sqrt().add_(1e-8)
        if self.momentum:
            self.velocity.mul_(self.momentum).addcdiv_(gradient, size)
            self.weights.add_(self.velocity, alpha=-self.lr)
        else:
            self.weights.addcdiv_(gradient, size, value=-self.lr)


def run_training(
    net: nn.Module,
    n: int,
    batch_loss: Callable[[Tensor], Tensor],
    valid_loss: Callable[[], float],
    hyper: Mapping[str, Any],
    options: FitOptions,
    seed: int,
) -> FitReport:
    """Minimise `batch_loss(rows)`; stop on `valid_loss()`; leave `net` at its best state.

    Each epoch is a random permutation whose incomplete last batch is dropped (as the authors do); if there are fewer
    subjects than one batch, all of them make the batch.
    """
    flat = flatten_parameters(net)
    assert flat.grad is not None
    optimiser = RMSProp(flat, hyper["lr"], hyper["weight_decay"], hyper.get("momentum", 0.0), options.clip)
    size = min(int(hyper["batch_size"]), n)
    generator = torch.Generator().manual_seed(seed)
    deadline = math.inf if options.time_limit is None else time.monotonic() + options.time_limit
    best, best_epoch, best_state = math.inf, 0, _copy(net)
    history: list[tuple[float, float]] = []
    stopped_by, message, epoch = "max_epochs", "", 0
    for epoch in _epochs(options, history):
        net.train()
        total = torch.zeros((), dtype=torch.float64, device=flat.device)  # there, so that a GPU is not waited for
        order = torch.randperm(n, generator=generator).to(flat.device)
        batches = n // size
        try:
            for start in range(0, batches * size, size):
                loss = batch_loss(order[start : start + size])
                flat.grad.zero_()
                if loss.requires_grad:  # a batch without events has no partial likelihood to follow
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step(flat.grad)
                total += loss.detach()
            net.eval()
            with torch.no_grad():
                value = valid_loss()
            mean_loss = float(total) / batches
            history.append((mean_loss, value))
            if not (math.isfinite(value) and math.isfinite(mean_loss)):
                raise Diverged(f"loss is {mean_loss:g} on train, {value:g} on validation data in epoch {epoch}")
        except Diverged as error:
            message, stopped_by = str(error), "diverged"
            break
        if value < best:
            best, best_epoch, best_state = value, epoch, _copy(net)
        elif epoch - best_epoch >= options.patience:
            stopped_by = "patience"
            break
        if time.monotonic() > deadline:
            stopped_by = "time_limit"
            break
    net.load_state_dict(best_state)
    net.eval()
    return FitReport(
        status="diverged" if message else "ok",
        valid_loss=best if best_epoch else math.nan,
        epochs=epoch,
        best_epoch=best_epoch,
        stopped_by=stopped_by,
        message=message,
        history=tuple(history),
    )


def clip(gradient: Tensor, largest: float) -> None:
    """Scale the gradient to norm `largest` if it is longer (torch's clip_grad_norm_, on one flat vector)."""
    norm = torch.linalg.vector_norm(gradient).double()  # not a number of Python's: a GPU would be waited for
    scale = torch.where(norm > largest, largest / (norm + 1e-6), 1.0)
    gradient.mul_(scale.to(gradient.dtype))


def _copy(net: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def _epochs(options: FitOptions, history: list[tuple[float, float]]) -> Iterator[int]:
    epochs = range(1, options.max_epochs + 1)
    return counted(epochs, history, options.progress) if options.progress else iter(epochs)


class NeuralModel(SurvivalModel):
    """A network, targets made of (time, event), and a loss; the rest is shared."""

    takes_entry: ClassVar[bool] = False  # whether the loss knows of late entry and weights
    net: nn.Module  # set by fit or from_state
    start: Mapping[str, Tensor] | None = None  # weights that `fit` goes on from; None: fresh ones

    @abstractmethod
    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """Learn from the training outcomes what the network's shape or the targets need (cuts, time scale, ...).

        Plain numbers, lists or tensors: it is saved with the state and handed to `build`.
        """

    @abstractmethod
    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """Make the network; it owns the encoder."""

    @abstractmethod
    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """What the loss needs of time and event, one row per subject."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The mean loss of a batch, differentiable."""

    def valid_loss(self, valid: Batch) -> float:
        """The loss on the validation part, all at once unless a model does it in chunks."""
        return float(self.loss(valid))

    def examples(self, whole: Batch) -> Tensor | None:
        """The rows of the training part that batches are drawn from; None: all."""
        return None

    def batch_loss(self, whole: Batch, rows: Tensor) -> Tensor:
        """The loss of one training batch; for models whose batch needs more of the training part than its rows."""
        return self.loss(whole.take(rows))

    def after_fit(self, train: SurvivalData, report: FitReport) -> FitReport:
        """What remains to be done with the best network, such as a baseline hazard."""
        return report

    def fit(self, train: SurvivalData, valid: SurvivalData, seed: int = 0) -> FitReport:
        """Train on `train`, stop on `valid`."""
        device = resolve_device(self.options.device)
        with seeded(seed, device):
            self.shape = {
                "static": train.x.shape[1],
                "channels": 0 if train.seq is None else train.seq.shape[2],
            }
            self.prepared = self.prepare(train)
            self.net = self._network()
            if self.start is not None:
                self.net.load_state_dict(self.start)
            self.net.to(device)
            self.choose_backends()
            whole, held_out = self.batch(train, device), self.batch(valid, device)
            chosen = self.examples(whole)
            report = run_training(
                self.net,
                len(whole if chosen is None else chosen),
                lambda rows: self.batch_loss(whole, rows if chosen is None else chosen[rows]),
                lambda: self.valid_loss(held_out),
                self.hyper,
                self.options,
                seed,
            )
            if report.best_epoch:
                report = self.after_fit(train, report)
        return report

    def choose_backends(self) -> None:
        """Let faster code compute what it was written for; call it again after the network moved or changed type."""
        mlp.choose(self.net)
        for module in self.net.modules():
            if isinstance(module, Encoder):
                module.choose_backend()

    def batch(self, data: SurvivalData, device: torch.device) -> Batch:
        """All of `data` as tensors."""
        x, seq = self.features(data, device)
        entry, weight = (None if v is None else torch.as_tensor(v).to(x) for v in (data.entry, data.weight))
        if not self.takes_entry and not (entry is None and weight is None):
            raise ValueError(f"{type(self).__name__} knows nothing of entry times and weights; use SODEN, or drop them")
        return Batch(x, seq, tuple(t.to(device) for t in self.targets(data)), entry, weight)

    def features(self, data: Features, device: torch.device | None = None) -> tuple[Tensor, Tensor | None]:
        """Features as tensors in the network's type and place."""
        weight = next(self.net.parameters())

        def tensor(values: FloatArray) -> Tensor:
            return torch.as_tensor(np.asarray(values)).to(device or weight.device, weight.dtype)

        return tensor(data.x), None if data.seq is None else tensor(data.seq)

    def _network(self) -> nn.Module:
        static, channels = self.shape["static"], self.shape["channels"]
        if not channels:
            return self.build(Encoder(static), self.prepared)
        from soden.gru import SeriesEncoder

        return self.build(SeriesEncoder(static, channels, int(self.hyper["gru_width"])), self.prepared)

    def state(self) -> dict[str, Any]:
        """Hyper-parameters, shape, what was prepared, weights."""
        weights = {k: v.cpu().clone() for k, v in self.net.state_dict().items()}
        return {
            "name": self.name,
            "hyper": self.hyper,
            "shape": self.shape,
            "prepared": self.prepared,
            "weights": weights,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild the fitted model."""
        if state["name"] != cls.name:
            raise ValueError(f"this state was saved by {state['name']!r}; load it with that model, not {cls.name!r}")
        model = cls(state["hyper"])
        model.shape, model.prepared = dict(state["shape"]), dict(state["prepared"])
        with seeded(0):
            model.net = model._network()
        model.net.load_state_dict(state["weights"])
        model.net.eval()
        model.choose_backends()
        return model
