"""SODEN for people who want the model alone: `SODEN().fit(X, time, event).predict_survival(X, times)`."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from soden import __version__, saved
from soden.inputs import Rows, Scaling, check_columns, check_device, check_parameters, column_names, held_out_rows
from soden.models import OdeModel, Soden, SodenCox, SodenPH
from soden.outcomes import Outcomes, outcomes, says_events
from soden.plot import Plots
from soden.predictions import RISK_TIMES, ROUTING, STEPS, either
from soden.sklearn_api import search_loses_events
from soden.training import resolve_device
from soden.types import FitOptions, FitReport, FloatArray

SMALLEST_BATCH, LARGEST_BATCH, STEPS_PER_EPOCH = 32, 256, 20  # of batch_size="auto"


class FitDiverged(RuntimeError):
    """Training left the finite numbers before its first epoch ended: there is no model."""


class SODEN(Plots):
    """Survival curves of any shape: the hazard h(Lambda_x(t), t; x) is one network, trained through its ODE.

    Features and times may come as they are: features are standardised and times are divided by their mean, so the unit
    of time (days, months, years) does not matter. All predictions are in your unit.

    Parameters
    ----------
    hidden:
        Width of the hidden layers of each network.
    layers:
        Their number.
    gru_hidden:
        Width of the GRU that reads series (`seq=`).
    lr:
        Learning rate of RMSProp; gradients longer than 100 are clipped.
    weight_decay:
        Pull of all weights towards 0.
    batch_size:
        Rows per step; "auto" takes a twentieth of the training rows, at least 32 and at most 256.
    max_epochs:
        Most passes over the training rows.
    patience:
        Training stops after so many epochs without a better validation loss; the best state is kept.
    n_models:
        Networks that are trained from other weights on other parts of the rows; S is the mean of theirs.
    validation_split:
        Share of the rows held out for early stopping, by each model another part, unless `fit` gets validation data;
        0 holds out none and watches the training loss.
    standardise:
        False if the features are on comparable scales already.
    solver:
        "fast", or "adjoint" for the paper's own scheme (slow; needs torchdiffeq).
    device:
        "auto" takes the GPU if there is one; or "cpu", "cuda", "cuda:1".
    warm_start:
        The next `fit` goes on from the weights, and keeps the scaling, of the last one.
    verbose:
        0 is silent, 1 shows a bar, 2 a line per epoch, on stderr.
    random_state:
        Seed of the initial weights, batches and held-out rows; None for another fit each time.

    Notes
    -----
    After `fit` there are also

    - `n_features_in_` and, where `fit` got a data frame, `feature_names_in_`: what predictions must be given;
    - `n_samples_`, `n_events_`, `horizon_`: subjects, events, and the largest time of the last fit;
    - `unique_times_`: training times, at most 1,000 of them, where step functions step;
    - `reports_`, `models_`: how each training went, and the networks with their solvers, in scaled units.
    """

    _model_class: ClassVar[type[OdeModel]] = Soden

    def __init__(
        self,
        hidden: int = 32,
        layers: int = 2,
        gru_hidden: int = 16,
        lr: float = 3e-3,
        weight_decay: float = 1e-2,
        batch_size: int | str = 64,
        max_epochs: int = 100,
        patience: int = 10,
        n_models: int = 5,
        validation_split: float = 0.2,
        standardise: bool = True,
        solver: str = "fast",
        device: str = "auto",
        warm_start: bool = False,
        verbose: int = 0,
        random_state: int | None = 0,
    ) -> None:
        self.hidden = hidden
        self.layers = layers
        self.gru_hidden = gru_hidden
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.n_models = n_models
        self.validation_split = validation_split
        self.standardise = standardise
        self.solver = solver
        self.device = device
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        event: Any = None,
        *,
        time: Any = None,
        entry: Any = None,
        sample_weight: Any = None,
        seq: Any = None,
        X_val: Any = None,
        time_val: Any = None,
        event_val: Any = None,
        entry_val: Any = None,
        sample_weight_val: Any = None,
        seq_val: Any = None,
    ) -> Self:
        """Learn from n subjects.

        `fit(X, time, event)` with events 1/True where observed, 0/False where censored, or `fit(X, y)` with the
        structured array or two-column data frame that scikit-survival uses. Times alone mean that every event was
        observed, and bring a warning. `entry` (n,) says when subjects came under observation (left truncation): they
        count by Lambda(y) - Lambda(entry). `sample_weight` (n,) says how much each counts. `seq` (n, steps, channels)
        holds series. `X_val`, `time_val`, `event_val` and the others of that ending, in the same forms, replace the
        held-out rows. Raises FitDiverged if no epoch ends with finite numbers; warns if a later one does not, and keeps
        the best state before it.
        """
        check_parameters(self.get_params())  # not in __init__: scikit-learn wants values kept as they come
        y = either(y, time)
        rows, seen = self._observed(X, y, event, entry, sample_weight, seq)
        if len(rows.x) < 2:
            raise ValueError(f"cannot learn from n_samples={len(rows.x)}: at least two subjects are needed")
        if not says_events(y, event):
            warnings.warn(
                f"no events were given, so all {len(rows.x)} times count as observed events; pass event, 1 observed, "
                "0 censored. event=np.ones(len(time)) says the same without this warning",
                UserWarning,
                stacklevel=2,
            )
        if event is not None and not seen.event.all() and search_loses_events():
            raise ValueError(f"the scores of this search would count every censored subject as an event. {ROUTING}")
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if self.random_state is None else self.random_state
        known = self if self.warm_start and self.__sklearn_is_fitted__() else None
        if known is not None:
            self._check_same(X, rows)
        valid = None
        if X_val is not None:
            check_columns(X_val, column_names(X), rows.x.shape[1], type(self).__name__)
            rows_val, seen_val = self._observed(X_val, time_val, event_val, entry_val, sample_weight_val, seq_val)
            if rows_val.channels != rows.channels:
                raise ValueError(
                    f"seq has {rows.channels} series per subject, seq_val {rows_val.channels}; pass the same"
                )
            valid = rows_val, seen_val
        elif not all(value is None for value in (time_val, event_val, entry_val, sample_weight_val, seq_val)):
            raise ValueError("validation data need X_val as well as time_val and event_val")
        self._train(rows, seen, valid, int(seed), known is not None)
        self._remember(rows, seen, column_names(X))
        return self

    def _observed(self, X: Any, y: Any, event: Any, entry: Any, weight: Any, seq: Any) -> tuple[Rows, Outcomes]:
        """Checked features and outcomes; whoever weighs nothing is left out, lest a batch weigh nothing."""
        rows = self._read(X, seq)
        if seq is not None and not self._model_class.takes_seq:
            raise ValueError(f"{type(self).__name__} is linear in static features and takes no series; use SODEN")
        if len(rows.x) < 2:  # says `fit`
            return rows, Outcomes(np.ones(len(rows.x)), np.ones(len(rows.x), dtype=bool))
        seen = outcomes(y, event, len(rows.x), entry, weight)
        if seen.weight is None:
            return rows, seen
        some = np.flatnonzero(seen.weight)
        return rows.take(some), seen.take(some)

    def _check_same(self, X: Any, rows: Rows) -> None:
        """A warm start needs the features of the last fit."""
        names = getattr(self, "feature_names_in_", None)
        check_columns(X, None if names is None else names.tolist(), self.n_features_in_, type(self).__name__)
        if rows.channels != len(self.scaling_.seq_mean):
            raise ValueError(f"warm_start: the last fit had {len(self.scaling_.seq_mean)} series, this {rows.channels}")
        past, now = self.models_[0].hyper, self._hyper(self.n_samples_)
        moved = [f"{name} from {past[name]} to {now[name]}" for name in ("width", "layers") if past[name] != now[name]]
        if moved:
            raise ValueError(f"warm_start cannot change the network: {', '.join(moved)}; set warm_start=False")

    def _hyper(self, n: int) -> dict[str, Any]:
        """For n training rows."""
        size = self.batch_size
        if size == "auto":
            size = int(np.clip(n // STEPS_PER_EPOCH, SMALLEST_BATCH, LARGEST_BATCH))
        hyper = {
            "width": self.hidden,
            "layers": self.layers,
            "gru_width": self.gru_hidden,
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "batch_size": size,
            "solver": self.solver,
        }
        return plain(hyper)

    def _train(self, rows: Rows, seen: Outcomes, valid: tuple[Rows, Outcomes] | None, seed: int, go_on: bool) -> None:
        """Each member on its own part of the rows, unless they were given; members there are go on."""
        options = FitOptions(self.max_epochs, self.patience, device=self.device, progress=int(self.verbose))
        known = list(zip(self.models_, self.scalings_, strict=True)) if go_on else []
        members, reports = [], []
        for member in range(self.n_models):
            share = self.validation_split if valid is None else 0.0
            chosen, others = held_out_rows(seen.event, share, seed, member)
            # What a member holds out must not teach it, not even means and scales: each has its own.
            start, scaling = known[member] if member < len(known) else (None, None)
            if scaling is None:
                scaling = Scaling.learn(rows.take(chosen), seen.take(chosen), self.standardise)
            data = scaling.survival(rows, seen)
            train, held_out = data.take(chosen), data.take(others) if valid is None else scaling.survival(*valid)
            if self.verbose and self.n_models > 1:
                print(f"model {member + 1} of {self.n_models}", file=sys.stderr)
            model = self._model_class(self._hyper(len(train)), options)
            model.start = None if start is None else start.net.state_dict()
            own = seed if member == 0 else int(np.random.SeedSequence([seed, member]).generate_state(1)[0])
            report = model.fit(train, held_out, own)
            self._check_report(report)
            # A prediction must not depend on which rows come along; in float32 it would, in the seventh digit.
            model.net.double()
            members.append((model, scaling))
            reports.append(report)
        self.models_, self.scalings_ = (list(part) for part in zip(*members, strict=True))
        self.reports_ = reports

    def _check_report(self, report: FitReport) -> None:
        advice = f"Lower lr (it is {self.lr:g}), or check the features for extreme values"
        if not report.best_epoch:
            raise FitDiverged(f"training diverged in its first epoch: {report.message}. {advice}")
        if report.status == "diverged":
            warnings.warn(
                f"training diverged in epoch {report.epochs}: {report.message}. "
                f"The best state before it, of epoch {report.best_epoch}, is kept. {advice}",
                RuntimeWarning,
                stacklevel=4,
            )

    def _remember(self, rows: Rows, seen: Outcomes, names: list[str] | None) -> None:
        self.n_features_in_ = rows.x.shape[1]
        self._set_names(names)
        self.horizon_ = float(seen.time.max())
        self.n_samples_, self.n_events_ = len(seen.time), int(seen.event.sum())
        shares = np.linspace(0, 1, min(RISK_TIMES, self.n_events_))
        self.risk_times_ = np.quantile(seen.time[seen.event], shares)
        times = np.unique(seen.time)
        if len(times) > STEPS:
            times = times[np.linspace(0, len(times) - 1, STEPS).round().astype(int)]
        self.unique_times_ = times

    def _set_names(self, names: list[str] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    @property
    def history_(self) -> dict[str, FloatArray]:
        """Losses per epoch under "train" and "valid", shape (n_models, epochs); nan after a model's last epoch."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no history_ before fit")
        losses = np.full((2, len(self.reports_), max(len(report.history) for report in self.reports_)), np.nan)
        for member, report in enumerate(self.reports_):
            losses[:, member, : len(report.history)] = np.transpose(report.history)
        return {"train": losses[0], "valid": losses[1]}

    def summary(self) -> str:
        """What was fitted to what and how it went, for a person: `print(model.summary())`."""
        self._fitted()
        network = sum(p.numel() for p in self.models_[0].net.parameters())
        epochs = [report.best_epoch for report in self.reports_]
        stopped = {report.stopped_by for report in self.reports_}
        lines = [
            f"{type(self).__name__}, {_count(len(self.models_), 'model')} of {network:,} weights "
            f"({self.hidden} x {self.layers})",
            f"  data        {self.n_samples_:,} subjects, {self.n_events_:,} events "
            f"({self.n_events_ / self.n_samples_:.0%}), {_count(self.n_features_in_, 'feature')}, "
            f"times up to {self.horizon_:g}",
            f"  training    best epoch {_span(epochs)} of at most {self.max_epochs}, "
            f"stopped by {', '.join(sorted(stopped))}",
            f"  validation  loss {_span([report.valid_loss for report in self.reports_], '.4f')} (times / their mean)",
        ]
        errors = [report.solver_error for report in self.reports_ if np.isfinite(report.solver_error)]
        if errors:
            lines.append(f"  solver      {self.solver}, relative error of Lambda in training at most {max(errors):.1e}")
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file; `load` reads it, also on a machine without a GPU."""
        self._fitted()
        names = getattr(self, "feature_names_in_", None)
        state = {
            "estimator": type(self).__name__,
            "version": __version__,
            "params": plain(self.get_params()),
            "models": [model.state() for model in self.models_],
            "reports": [asdict(report) for report in self.reports_],
            "scalings": [([part.tolist() for part in one.moments()], one.time) for one in self.scalings_],
            "names": None if names is None else names.tolist(),
            "counts": (self.n_samples_, self.n_events_),
            "horizon": self.horizon_,
            "risk_times": self.risk_times_.tolist(),
            "unique_times": self.unique_times_.tolist(),
        }
        saved.write(path, state)

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """Read what `save` wrote; nothing in the file is executed."""
        check_device(device)
        state = saved.read(path, cls.__name__)
        try:
            estimator = cls._rebuilt(state)
        except Exception as error:  # whatever is missing, of another kind or of another shape
            raise ValueError(
                f"{path} was saved by soden {state.get('version', 'of unknown version')} and cannot be read by this, "
                f"{__version__} ({type(error).__name__}: {error}). Load it with that version, or fit again"
            ) from None
        for model in estimator.models_:
            model.net.to(resolve_device(device), torch.float64)
        return estimator

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        estimator = cls(**state["params"])
        estimator.models_ = [cls._model_class.from_state(model) for model in state["models"]]
        estimator.scalings_ = []
        estimator.reports_ = [FitReport(**report) for report in state["reports"]]
        for moments, unit in state["scalings"]:
            x_mean, x_std, seq_mean, seq_std = (np.array(part) for part in moments)
            estimator.scalings_.append(Scaling(x_mean, x_std, seq_mean, seq_std, unit))
        estimator._set_names(state["names"])
        estimator.n_features_in_ = len(estimator.scaling_.x_mean)
        estimator.n_samples_, estimator.n_events_ = state["counts"]
        estimator.horizon_, estimator.risk_times_ = state["horizon"], np.array(state["risk_times"])
        estimator.unique_times_ = np.array(state["unique_times"])
        return estimator


class SODENPH(SODEN):
    """Proportional hazards: lambda_x(t) = h0(t) g(x) with networks for both; parameters as for SODEN."""

    _model_class = SodenPH


class SODENCox(SODEN):
    """Proportional hazards, linear in the features: h0(t) exp(x beta), a network for h0; parameters as for SODEN."""

    _model_class = SodenCox


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Numpy's numbers, as searches set them, turned into Python's: a saved file holds nothing else."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def _count(n: int, what: str) -> str:
    """1 feature, 2 features."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def _span(values: list[Any], form: str = "") -> str:
    """The value, or the least and the most of several."""
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"
