"""SODEN, SODEN-PH and SODEN-Cox: maximum likelihood through the solution of lambda_x(t) = h(Lambda_x(t), t; x)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from soden.backends import ode as backend
from soden.hazard import BadHazard, CoxHazard, GeneralHazard, Hazard, PHHazard, Solution
from soden.likelihood import nll_terms
from soden.nets import Encoder
from soden.solver import FastSolver, Solver
from soden.training import Batch, NeuralModel
from soden.types import Diverged, Features, FitReport, FloatArray, SurvivalData

SOLVERS = ("fast", "adjoint", "direct")
HUGE = 1e30  # a loss from which training does not come back; from 1e10 it does, and the paper's solver lets it
FINE_STEPS = 128  # of the mesh behind predictions and the reported likelihood
BLOCK = 2048  # subjects solved at once
CELLS = 1 << 22  # numbers held at once when hazards are predicted: 16 MB in float32


class OdeModel(NeuralModel):
    """What the three share: the likelihood, error control while training, prediction."""

    hazard_class: ClassVar[type[Hazard]]
    start_steps: ClassVar[int] = 6  # of the training mesh, and its least; more once the error asks for them
    most_steps: ClassVar[int] = 96  # the stages of a batch of 1024 in the widest network then take 1.6 GB
    takes_entry = True
    net: Hazard
    solver: Solver

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """The clock's scale, the lower quartile of the times above 0; the mesh starts coarse."""
        return {"steps": self.start_steps, "tau": float(np.quantile(train.time[train.time > 0], 0.25))}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """The hazard network, which owns the encoder, and the solver it is trained by."""
        self.solver = self._solver(self.hyper.get("solver", "fast"), prepared["tau"])
        return self.make_hazard(encoder, int(self.hyper["width"]), int(self.hyper["layers"]))

    def make_hazard(self, encoder: Encoder, width: int, layers: int) -> Hazard:
        """A new network."""
        return self.hazard_class(encoder, width, layers)

    def _solver(self, kind: str, tau: float) -> Solver:
        if kind not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}; got {kind!r}")
        if kind == "fast":
            return FastSolver(self.start_steps, self.most_steps, tau)
        from soden.adjoint import AdjointSolver, DirectSolver

        return AdjointSolver() if kind == "adjoint" else DirectSolver()

    def choose_backends(self) -> None:
        """None where torchdiffeq solves: its adjoint asks torch for derivatives by the parameters themselves."""
        if isinstance(self.solver, FastSolver):
            super().choose_backends()
            backend.choose(self.net)

    def batch(self, data: SurvivalData, device: torch.device) -> Batch:
        """All of `data` as tensors; weights are divided by their mean, so that their scale does not matter."""
        batch = super().batch(data, device)
        return batch if batch.weight is None else replace(batch, weight=batch.weight / batch.weight.mean())

    def batch_loss(self, whole: Batch, rows: Tensor) -> Tensor:
        """The loss of some rows; BadHazard tells which of `whole` it concerns."""
        try:
            return super().batch_loss(whole, rows)
        except BadHazard as error:
            raise BadHazard(int(rows[error.row]), error.time, error.value) from None

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """y and Delta, in the network's type."""
        dtype = next(self.net.parameters()).dtype
        return torch.as_tensor(data.time, dtype=dtype), torch.as_tensor(data.event, dtype=dtype)

    def loss(self, batch: Batch) -> Tensor:
        """Mean of -Delta log lambda(y) + Lambda(y) - Lambda(entry), the negative log-likelihood of Section 3.2.

        Weighted rows are divided by their number: by the weights of a batch, heavy rows would count too little.
        """
        y, event = batch.target
        weight = torch.full_like(y, 1 / len(y)) if batch.weight is None else batch.weight / len(y)
        loss = self.solver.nll(self.net, batch.x, batch.seq, y, event, weight)
        if batch.entry is not None:
            loss = loss - self.solver.nll(self.net, batch.x, batch.seq, batch.entry, torch.zeros_like(event), weight)
        # Also true of nan. A GPU is not asked: it would be waited for in every batch; the epoch's mean tells as well.
        if loss.is_cpu and not loss.detach() < HUGE:
            raise Diverged(f"the loss of a batch is {float(loss.detach()):g}: Lambda blew up")
        return loss

    def average(self, terms: FloatArray, time: FloatArray, weight: FloatArray | None) -> float:
        """What the validation part's terms come to."""
        return float(np.average(terms, weights=weight))

    def error_block(self) -> int:
        """Subjects per solve when the error is estimated."""
        return BLOCK

    def valid_loss(self, valid: Batch) -> float:
        """The negative log-likelihood with a checked solution; the solver hears of its own error."""
        terms, error = [], 0.0
        for block in _blocks(valid, self.error_block()):
            solution, gap = self.solver.checked(self.net, block.x, block.seq, block.target[0])
            entered = None
            if block.entry is not None:
                at_entry, other = self.solver.checked(self.net, block.x, block.seq, block.entry)
                entered, gap = at_entry.Lambda, max(gap, other)
            terms.append(nll_terms(solution.Lambda, self.net.log_lambda(solution), block.target[1], entered))
            error = gap if np.isnan(gap) else max(error, gap)
        self.solver.adapt(error)
        weight = None if valid.weight is None else valid.weight.double().cpu().numpy()
        return self.average(torch.cat(terms).double().cpu().numpy(), valid.target[0].cpu().numpy(), weight)

    def after_fit(self, train: SurvivalData, report: FitReport) -> FitReport:
        """Report the solver's error at the best state, and keep the mesh it had there."""
        if not isinstance(self.solver, FastSolver):
            return report
        self.prepared["steps"], error = self.solver.errors[report.best_epoch - 1]
        return replace(report, solver_error=error)

    def predict_survival(self, data: Features, times: FloatArray) -> FloatArray:
        """S_x(t) = exp(-Lambda_x(t))."""
        survival: FloatArray = np.exp(-self.predict_cumulative_hazard(data, times))
        return survival

    def predict_cumulative_hazard(self, data: Features, times: FloatArray) -> FloatArray:
        """Lambda_x(t), (n, len(times)), from one dense solve; times in any order, also beyond the training part's."""
        return self._predict(data, times, hazard=False)

    def predict_hazard(self, data: Features, times: FloatArray) -> FloatArray:
        """lambda_x(t) = h(Lambda_x(t), t; x), (n, len(times))."""
        return self._predict(data, times, hazard=True)

    @torch.no_grad()
    def nll(self, data: SurvivalData) -> FloatArray:
        """-Delta log lambda(y) + Lambda(y) - Lambda(entry) of each subject, whatever solver trained the model."""
        whole = self.batch(data, next(self.net.parameters()).device)
        terms = []
        for block in _blocks(whole, BLOCK):
            y, event = block.target
            solution = self._fine(block, y)
            entered = None if block.entry is None else self._fine(block, block.entry).Lambda
            terms.append(nll_terms(solution.Lambda, self.net.log_lambda(solution), event, entered))
        values: FloatArray = torch.cat(terms).double().cpu().numpy()
        return values

    def _fine(self, block: Batch, y: Tensor) -> Solution:
        return self.net.fastest.solve(self.net.encode(block.x, block.seq), y, self._fine_steps(), self.prepared["tau"])

    def _fine_steps(self) -> int:
        return max(FINE_STEPS, 4 * int(self.prepared["steps"]))

    @torch.no_grad()
    def _predict(self, data: Features, times: FloatArray, hazard: bool) -> FloatArray:
        x, seq = self.features(data)
        ordered, back = np.unique(_checked(times), return_inverse=True)
        t = torch.as_tensor(ordered).to(x)
        t_max = t[-1] if len(t) and t[-1] > 0 else x.new_ones(())
        result = np.empty((len(x), len(ordered)))
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            encoded = self.net.encode(x[rows], None if seq is None else seq[rows])
            Lambda = self.net.fastest.dense(encoded, t_max, self._fine_steps(), self.prepared["tau"]).at(t)
            block = self._hazard_at(Lambda, t, encoded) if hazard else Lambda
            result[rows] = block.t().cpu().numpy()
        if not hazard:  # rounding may leave steps down of one unit in the last place
            np.maximum.accumulate(result, axis=1, out=result)
        return result[:, back]

    def _hazard_at(self, Lambda: Tensor, t: Tensor, encoded: Tensor) -> Tensor:
        """Evaluate h in pieces of times that keep the network's activations small."""
        piece = max(1, CELLS // max(1, len(encoded) * int(self.hyper["width"])))
        parts = zip(torch.split(Lambda, piece), torch.split(t, piece), strict=True)
        return torch.cat([self.net(at, when[:, None].expand_as(at), encoded) for at, when in parts])


class Soden(OdeModel):
    """h(Lambda, t; x) is one network, no assumption on the shape of the hazard (Section 3.1)."""

    name = "soden"
    hazard_class = GeneralHazard


class SeparableModel(OdeModel):
    """h0(t) times a factor of x: a step adds two times to one call of h0, so the mesh may be fine from the start."""

    start_steps = 32
    most_steps = 1024

    def error_block(self) -> int:
        """The training batch's size: its sorted times are the mesh, so the error depends on how many there are."""
        return int(self.hyper["batch_size"])


class SodenPH(SeparableModel):
    """h0(t) g(x), both networks: proportional hazards without a parametric form (Section 5.2)."""

    name = "soden_ph"
    hazard_class = PHHazard


class SodenCox(SeparableModel):
    """h0(t) exp(x beta): the linear Cox model with a network as its baseline (Section 5.2); static features only."""

    name = "soden_cox"
    hazard_class = CoxHazard
    takes_seq = False


def _blocks(batch: Batch, size: int) -> Iterator[Batch]:
    return (batch.take(slice(start, start + size)) for start in range(0, len(batch), size))


def _checked(times: FloatArray) -> FloatArray:
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1:
        raise ValueError(f"times must be one-dimensional; got shape {times.shape}")
    if not (np.isfinite(times).all() and (times >= 0).all()):
        raise ValueError("times must be finite and not negative: survival before 0 is 1 and is not modelled")
    return times
