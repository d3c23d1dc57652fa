"""SODEN for people who want the model alone: `SODEN().fit(X, time, event).predict_survival(X, times)`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch

from soden import __version__
from soden.concordance import blocks, concordance
from soden.inputs import (
    Rows,
    Scaling,
    check_columns,
    check_parameters,
    column_names,
    feature_matrix,
    held_out_rows,
    outcomes,
    series,
)
from soden.models import OdeModel, Soden, SodenCox, SodenPH
from soden.sklearn_api import Estimator, not_fitted
from soden.training import resolve_device
from soden.types import BoolArray, FitOptions, FitReport, FloatArray, SurvivalData

QUANTILE_GRID = 2049  # times at which Lambda is inverted
RISK_TIMES = 100  # at most so many event times make up the risk score


class FitDiverged(RuntimeError):
    """Training left the finite numbers before its first epoch ended: there is no model."""


class SODEN(Estimator):
    """Survival curves of any shape: the hazard h(Lambda_x(t), t; x) is one network, trained through its ODE.

    Features and times may come as they are: features are standardised and times are divided by their mean, both on the
    training rows, so the unit of time (days, months, years) does not matter. All predictions are in your unit.

    Parameters
    ----------
    hidden, layers: width and number of hidden layers of each network.
    gru_hidden: width of the GRU that reads series (`seq=`).
    lr, weight_decay, batch_size: of RMSProp; gradients longer than 100 are clipped.
    max_epochs, patience: training stops after `patience` epochs without a better validation loss; the best is kept.
    validation_split: share of the rows held out for that, unless `fit` gets validation data; 0 holds out none and
        watches the training loss.
    standardise: False if the features are on comparable scales already.
    solver: "fast", or "adjoint" for the paper's own scheme (slow; needs torchdiffeq).
    device: "auto" takes the GPU if there is one; or "cpu", "cuda", "cuda:1".
    progress: show a progress bar.
    random_state: seed of the initial weights, batches and held-out rows; None for another fit each time.

    Attributes
    ----------
    n_features_in_, feature_names_in_ (data frames only): what predictions must be given.
    horizon_: the largest training time.
    report_: how training went: epochs, losses (`report_.history`), the solver's error.
    model_: the fitted network with its solver, in scaled units.
    """

    _model_class: ClassVar[type[OdeModel]] = Soden

    def __init__(
        self,
        hidden: int = 32,
        layers: int = 2,
        gru_hidden: int = 16,
        lr: float = 3e-3,
        weight_decay: float = 1e-6,
        batch_size: int = 64,
        max_epochs: int = 100,
        patience: int = 10,
        validation_split: float = 0.2,
        standardise: bool = True,
        solver: str = "fast",
        device: str = "auto",
        progress: bool = False,
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
        self.validation_split = validation_split
        self.standardise = standardise
        self.solver = solver
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        event: Any = None,
        *,
        time: Any = None,
        seq: Any = None,
        X_val: Any = None,
        time_val: Any = None,
        event_val: Any = None,
        seq_val: Any = None,
    ) -> Self:
        """Learn from n subjects.

        `fit(X, time, event)` with events 1/True where observed, 0/False where censored, or `fit(X, y)` with the
        structured array or two-column data frame that scikit-survival uses. Times alone mean that every event was
        observed. `seq` (n, steps, channels) holds series. `X_val`, `time_val`, `event_val` (and `seq_val`), in the
        same forms, replace the held-out rows. Raises FitDiverged if no epoch ends with finite numbers; warns if a
        later one does not, and keeps the best state before it.
        """
        check_parameters(self.get_params())  # not in __init__: scikit-learn wants values kept as they come
        rows = self._read(X, seq)
        if len(rows.x) < 2:
            raise ValueError(f"cannot learn from n_samples={len(rows.x)}: at least two subjects are needed")
        time, event = outcomes(_either(y, time), event, len(rows.x))
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if self.random_state is None else self.random_state
        if X_val is not None:
            check_columns(X_val, column_names(X), rows.x.shape[1], type(self).__name__)
            held_out = self._read(X_val, seq_val)
            if held_out.channels != rows.channels:
                raise ValueError(
                    f"seq has {rows.channels} series per subject, seq_val {held_out.channels}; pass the same"
                )
            time_val, event_val = outcomes(time_val, event_val, len(held_out.x))
            scaling = Scaling.learn(rows, time, self.standardise)
            train, valid = scaling.survival(rows, time, event), scaling.survival(held_out, time_val, event_val)
        elif time_val is not None or event_val is not None or seq_val is not None:
            raise ValueError("validation data need X_val as well as time_val and event_val")
        else:
            chosen, others = held_out_rows(event, self.validation_split, seed)
            scaling = Scaling.learn(rows.take(chosen), time[chosen], self.standardise)
            data = scaling.survival(rows, time, event)
            train, valid = data.take(chosen), data.take(others)
        self._train(train, valid, int(seed))
        self._remember(rows, time, event, scaling, column_names(X))
        return self

    def _train(self, train: SurvivalData, valid: SurvivalData, seed: int) -> None:
        hyper = {
            "width": self.hidden,
            "layers": self.layers,
            "gru_width": self.gru_hidden,
            "lr": self.lr,
            "weight_decay": self.weight_decay,
            "batch_size": self.batch_size,
            "solver": self.solver,
        }
        options = FitOptions(self.max_epochs, self.patience, device=self.device, progress=self.progress)
        model = self._model_class(plain(hyper), options)
        report = model.fit(train, valid, seed)
        advice = f"Lower lr (it is {self.lr:g}), or check the features for extreme values"
        if not report.best_epoch:
            raise FitDiverged(f"training diverged in its first epoch: {report.message}. {advice}")
        if report.status == "diverged":
            warnings.warn(
                f"training diverged in epoch {report.epochs}: {report.message}. "
                f"The best state before it, of epoch {report.best_epoch}, is kept. {advice}",
                RuntimeWarning,
                stacklevel=3,
            )
        # A prediction must not depend on which rows come along; in float32 it would, in the seventh digit.
        model.net.double()
        self.model_, self.report_ = model, report

    def _remember(
        self, rows: Rows, time: FloatArray, event: BoolArray, scaling: Scaling, names: list[str] | None
    ) -> None:
        self.n_features_in_ = rows.x.shape[1]
        self._set_names(names)
        self.scaling_ = scaling
        self.horizon_ = float(time.max())
        shares = np.linspace(0, 1, min(RISK_TIMES, int(event.sum())))
        self.risk_times_ = np.quantile(time[event], shares)

    def _set_names(self, names: list[str] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_

    def predict_survival(self, X: Any, times: Any, seq: Any = None) -> FloatArray:
        """S_x(t) = P(T > t | x), shape (n, len(times)); times in any order, also beyond the training times."""
        survival: FloatArray = np.exp(-self.predict_cumulative_hazard(X, times, seq))
        return survival

    def predict_cumulative_hazard(self, X: Any, times: Any, seq: Any = None) -> FloatArray:
        """Lambda_x(t), shape (n, len(times))."""
        return self._Lambda(self._rows(X, seq), _checked_times(times))

    def predict_hazard(self, X: Any, times: Any, seq: Any = None) -> FloatArray:
        """lambda_x(t), events per unit of your time, shape (n, len(times))."""
        rows = self._rows(X, seq)
        return self._curves(self.model_.predict_hazard, rows, _checked_times(times)) / self.scaling_.time

    def predict_median(self, X: Any, seq: Any = None, horizon: float | None = None) -> FloatArray:
        """The time at which S_x falls to 1/2, shape (n,); inf where it has not by `horizon` (see predict_quantile)."""
        return self.predict_quantile(X, 0.5, seq, horizon)

    def predict_quantile(self, X: Any, q: Any, seq: Any = None, horizon: float | None = None) -> FloatArray:
        """The time by which the event has come with probability q: S_x(t) = 1 - q.

        Shape (n,) for a number, (n, len(q)) for several. inf where S_x stays above 1 - q up to `horizon`, by default
        the largest training time: beyond it no data speak.
        """
        rows = self._rows(X, seq)
        shares = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
            raise ValueError(f"q must lie between 0 and 1, both excluded; got {q!r}")
        end = self.horizon_ if horizon is None else float(horizon)
        if not 0 < end < np.inf:
            raise ValueError(f"horizon must be positive and finite; got {horizon!r}")
        grid = end * np.linspace(0, 1, QUANTILE_GRID) ** 2  # denser near 0, where steep curves fall
        wanted = -np.log1p(-shares)
        result = np.empty((len(rows.x), len(shares)))
        for part in blocks(len(rows.x), QUANTILE_GRID):
            for i, Lambda in enumerate(self._Lambda(rows.take(part), grid), part.start):
                result[i] = np.interp(wanted, Lambda, grid, right=np.inf)
        return result[:, 0] if np.ndim(q) == 0 else result

    def predict(self, X: Any, seq: Any = None) -> FloatArray:
        """A risk score, shape (n,), higher for an earlier event: Lambda_x averaged over the training event times.

        scikit-survival's convention, so its metrics and scikit-learn's tools take it; for SODENPH and SODENCox it
        orders subjects as their hazard ratio does.
        """
        rows = self._rows(X, seq)
        parts = blocks(len(rows.x), len(self.risk_times_))
        return np.concatenate([self._Lambda(rows.take(part), self.risk_times_).mean(axis=1) for part in parts])

    def score(self, X: Any, y: Any = None, event: Any = None, *, time: Any = None, seq: Any = None) -> float:
        """Antolini's time-dependent concordance: 1 is perfect, 1/2 is chance; outcomes in the same forms as for `fit`.

        Of all pairs whose order is known, the share in which the subject with the earlier event had the lower survival
        at that time (ties count 1/2). It is Harrell's C where curves do not cross, so comparable with scikit-survival's
        `score`. It judges order alone; `log_likelihood` judges the curves.
        """
        rows = self._rows(X, seq)
        time, event = outcomes(_either(y, time), event, len(rows.x))
        return concordance(lambda part, times: self._Lambda(rows.take(part), times), time, event)

    def log_likelihood(self, X: Any, y: Any = None, event: Any = None, *, time: Any = None, seq: Any = None) -> float:
        """The mean of Delta log lambda(y) - Lambda(y), Equation (4), in your unit of time; higher is better."""
        rows = self._rows(X, seq)
        time, event = outcomes(_either(y, time), event, len(rows.x))
        terms = self.model_.nll(SurvivalData(time / self.scaling_.time, event, rows.x, rows.seq))
        return float(-terms.mean() - event.mean() * np.log(self.scaling_.time))

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file; `load` reads it, also on a machine without a GPU."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        torch.save(
            {
                "estimator": type(self).__name__,
                "version": __version__,
                "params": plain(self.get_params()),
                "model": self.model_.state(),
                "report": asdict(self.report_),
                "moments": [part.tolist() for part in self.scaling_.moments()],
                "time_scale": self.scaling_.time,
                "names": None if names is None else names.tolist(),
                "horizon": self.horizon_,
                "risk_times": self.risk_times_.tolist(),
            },
            path,
        )

    @classmethod
    def load(cls, path: str | Path, device: str = "auto") -> Self:
        """Read what `save` wrote; nothing in the file is executed."""
        state = torch.load(path, map_location="cpu", weights_only=True)
        kind = state.get("estimator") if isinstance(state, dict) else None
        if kind != cls.__name__:
            raise ValueError(f"{path} holds {kind or 'no saved estimator'}; {cls.__name__}.load cannot read it")
        estimator = cls(**state["params"])
        estimator.model_ = cls._model_class.from_state(state["model"])
        estimator.model_.net.to(resolve_device(device), torch.float64)
        estimator.report_ = FitReport(**state["report"])
        moments = [np.array(part) for part in state["moments"]]
        estimator.scaling_ = Scaling(moments[0], moments[1], moments[2], moments[3], state["time_scale"])
        estimator._set_names(state["names"])
        estimator.n_features_in_ = len(estimator.scaling_.x_mean)
        estimator.horizon_, estimator.risk_times_ = state["horizon"], np.array(state["risk_times"])
        return estimator

    def _read(self, X: Any, seq: Any) -> Rows:
        x = feature_matrix(X)
        if seq is not None and not self._model_class.takes_seq:
            raise ValueError(f"{type(self).__name__} is linear in static features and takes no series; use SODEN")
        return Rows(x, series(seq, len(x)))

    def _rows(self, X: Any, seq: Any) -> Rows:
        """Check features against those of `fit` and scale them."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)
        names = getattr(self, "feature_names_in_", None)
        check_columns(X, None if names is None else names.tolist(), self.n_features_in_, type(self).__name__)
        rows = self._read(X, seq)
        channels = len(self.scaling_.seq_mean)
        if channels != rows.channels:
            raise ValueError(
                f"the model was fitted with {channels or 'no'} series per subject, so seq must have "
                + (f"shape (n, steps, {channels})" if channels else "been left out")
                + f"; got {'none' if rows.seq is None else rows.seq.shape}"
            )
        return self.scaling_.features(rows)

    def _Lambda(self, rows: Rows, times: FloatArray) -> FloatArray:
        return self._curves(self.model_.predict_cumulative_hazard, rows, times)

    def _curves(self, predict: Callable[[Rows, FloatArray], FloatArray], rows: Rows, times: FloatArray) -> FloatArray:
        """Predict in blocks. The horizon joins the times so that what else is asked for does not move the mesh."""
        scaled = np.append(times, self.horizon_) / self.scaling_.time
        result = np.empty((len(rows.x), len(times)))
        for part in blocks(len(rows.x), len(scaled)):
            result[part] = predict(rows.take(part), scaled)[:, :-1]
        return result


class SODENPH(SODEN):
    """Proportional hazards: lambda_x(t) = h0(t) g(x) with networks for both; parameters as for SODEN."""

    _model_class = SodenPH


class SODENCox(SODEN):
    """Proportional hazards, linear in the features: h0(t) exp(x beta), a network for h0; parameters as for SODEN."""

    _model_class = SodenCox


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Numpy's numbers, as searches set them, turned into Python's: a saved file holds nothing else."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def _either(y: Any, time: Any) -> Any:
    if y is not None and time is not None:
        raise ValueError("times came twice: as the second argument and as time=; pass one of them")
    return time if y is None else y


def _checked_times(times: Any) -> FloatArray:
    values = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if values.ndim != 1:
        raise ValueError(f"times must be one-dimensional; got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("times must be finite and not negative: survival before 0 is 1 and is not modelled")
    return values
