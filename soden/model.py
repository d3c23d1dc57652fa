"""What SODEN, SODEN-PH and SODEN-Cox share: the likelihood, error control while training, prediction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from soden.hazard import SOLVERS, Hazard
from soden.nets import Encoder
from soden.space import NETWORK
from soden.training import Batch, Diverged, NeuralModel, chunked_mean
from soden.types import Features, FitOptions, FitReport, FloatArray, SurvivalData

TOLERANCE = 5e-3  # largest relative gap in Lambda between N and 2N steps that keeps N
HUGE = 1e30  # a loss from which training does not come back; from 1e10 it does, and the paper's solver lets it
BROKEN = 0.5  # a gap that the finest mesh must not leave
FINE_STEPS = 128  # of the mesh behind predictions and the reported likelihood
BLOCK = 2048  # subjects solved at once
CELLS = 1 << 22  # numbers held at once when hazards are predicted: 16 MB in float32


class OdeModel(NeuralModel):
    """lambda_x(t) = h(Lambda_x(t), t; x): maximum likelihood through the solution of the ODE."""

    space = NETWORK
    hazard_class: ClassVar[type[Hazard]]
    start_steps: ClassVar[int] = 6  # of the training mesh, and its least; more once the error passes TOLERANCE
    most_steps: ClassVar[int] = 96  # the stages of a batch of 1024 in the widest network then take 1.6 GB
    net: Hazard
    steps: int
    tau: float

    def __init__(self, hyper: Mapping[str, Any] | None = None, options: FitOptions | None = None) -> None:
        super().__init__(hyper, options)
        self.solver = self.hyper.get("solver", "fast")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(SOLVERS)}; got {self.solver!r}")
        self.gaps: list[tuple[int, float]] = []  # (steps, relative error in Lambda) after each epoch

    def prepare(self, train: SurvivalData) -> dict[str, Any]:
        """The clock's scale, the lower quartile of the times; the mesh starts coarse."""
        self.gaps = []
        return {"steps": self.start_steps, "tau": float(np.quantile(train.time, 0.25))}

    def build(self, encoder: Encoder, prepared: Mapping[str, Any]) -> nn.Module:
        """The hazard network, which owns the encoder."""
        self.steps, self.tau = prepared["steps"], prepared["tau"]
        return self.hazard_class(encoder, int(self.hyper["width"]), int(self.hyper["layers"]))

    def targets(self, data: SurvivalData) -> tuple[Tensor, ...]:
        """y and Delta, in the network's type."""
        dtype = next(self.net.parameters()).dtype
        return torch.as_tensor(data.time, dtype=dtype), torch.as_tensor(data.event, dtype=dtype)

    def loss(self, batch: Batch) -> Tensor:
        """Mean of -Delta log lambda(y) + Lambda(y), the negative log-likelihood of Section 3.2."""
        loss = nll_terms(*self.solve(batch, self.steps), batch.target[1]).mean()
        if not loss.detach() < HUGE:  # also true of nan
            raise Diverged(f"the loss of a batch is {float(loss.detach()):g}: Lambda blew up")
        return loss

    def solve(self, batch: Batch, steps: int) -> tuple[Tensor, Tensor]:
        """Lambda(y), lambda(y) by the model's solver."""
        y = batch.target[0]
        if self.solver == "adjoint":
            from soden.reference import solve_adjoint

            return solve_adjoint(self.net, batch.x, batch.seq, y)
        encoded = self.net.encode(batch.x, batch.seq)
        if self.solver == "direct":
            from soden.reference import solve_direct

            return solve_direct(self.net, encoded, y)
        return self.net.solve(encoded, y, steps, self.tau)

    def error_block(self) -> int:
        """Subjects per solve when the error is estimated."""
        return BLOCK

    def valid_loss(self, valid: Batch) -> float:
        """The negative log-likelihood with 2N steps; its gap in Lambda to N steps decides about the next epoch's N."""
        terms, gap = [], 0.0
        for block in _blocks(valid, self.error_block()):
            Lambda, lam = self.solve(block, 2 * self.steps)
            terms.append(nll_terms(Lambda, lam, block.target[1]))
            if self.solver == "fast":
                gap = max(gap, relative_gap(self.solve(block, self.steps)[0], Lambda))
        self._control(gap if self.solver == "fast" else math.nan)
        return chunked_mean(torch.cat(terms).double().cpu().numpy(), valid.target[0].cpu().numpy(), self.options.nll)

    def _control(self, gap: float) -> None:
        """Take more steps when the error passes the tolerance, fewer when it is far below; give up at a broken one."""
        self.gaps.append((self.steps, gap))
        if self.solver != "fast" or TOLERANCE / 8 <= gap <= TOLERANCE:
            return
        if self.steps >= self.most_steps and not gap <= BROKEN:
            raise Diverged(f"Lambda changes by {gap:.0%} between {self.steps} and {2 * self.steps} steps")
        # The error falls like N^-3 or so: kinks of the ReLUs hold it above RK4's N^-4. Aim at half the tolerance.
        factor = (2 * gap / TOLERANCE) ** (1 / 3) if gap < math.inf else math.inf
        self.steps = math.ceil(self.steps * min(max(factor, 0.5), 3.0))
        self.steps = min(max(self.steps, self.start_steps), self.most_steps)

    def after_fit(self, train: SurvivalData, report: FitReport) -> FitReport:
        """Report the solver's error at the best state."""
        steps, gap = self.gaps[report.best_epoch - 1]
        self.steps = self.prepared["steps"] = steps
        return replace(report, solver_error=gap)

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
        """-Delta log lambda(y) + Lambda(y) of each subject on a fine mesh, whatever solver trained the model."""
        whole = self.batch(data, next(self.net.parameters()).device)
        terms = []
        for block in _blocks(whole, BLOCK):
            encoded = self.net.encode(block.x, block.seq)
            y, event = block.target
            terms.append(nll_terms(*self.net.solve(encoded, y, self._fine_steps(), self.tau), event))
        values: FloatArray = torch.cat(terms).double().cpu().numpy()
        return values

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
            Lambda = self.net.dense(encoded, t_max, self._fine_steps(), self.tau).at(t)
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

    def _fine_steps(self) -> int:
        return max(FINE_STEPS, 4 * self.steps)


class SeparableModel(OdeModel):
    """h0(t) times a factor of x: a step adds two times to one call of h0, so the mesh may be fine from the start."""

    start_steps = 32
    most_steps = 1024

    def error_block(self) -> int:
        """The training batch's size: its sorted times are the mesh, so the error depends on how many there are."""
        return int(self.hyper["batch_size"])


def nll_terms(Lambda: Tensor, lam: Tensor, event: Tensor) -> Tensor:
    """-Delta log(max(lambda, 1e-8)) + Lambda, one per subject."""
    return Lambda - event * torch.log(lam.clamp(min=1e-8))


def relative_gap(coarse: Tensor, fine: Tensor) -> float:
    """max |coarse - fine| / (fine + 1e-3): the error in Lambda, relative where Lambda is not small; nan is infinite."""
    gap = float(((coarse - fine).abs() / (fine.abs() + 1e-3)).max())
    return math.inf if math.isnan(gap) else gap


def _blocks(batch: Batch, size: int) -> Iterator[Batch]:
    return (batch.take(slice(start, start + size)) for start in range(0, len(batch), size))


def _checked(times: FloatArray) -> FloatArray:
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1:
        raise ValueError(f"times must be one-dimensional; got shape {times.shape}")
    if not (np.isfinite(times).all() and (times >= 0).all()):
        raise ValueError("times must be finite and not negative: survival before 0 is 1 and is not modelled")
    return times
