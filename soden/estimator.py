"""SODEN for people who want the model alone: `SODEN().fit(X, time, event).predict_survival(X, times)`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch

from soden import plot, saved
from soden.clock import start_of
from soden.hazard import Hazard
from soden.inputs import (
    Rows,
    Scaling,
    check_columns,
    check_constant,
    check_device,
    check_parameters,
    column_names,
    held_out_rows,
)
from soden.machine import interruptible, prepared
from soden.members import Member, all_trained
from soden.models import OdeModel, Soden, SodenCox, SodenPH
from soden.outcomes import Outcomes, by_name, either, outcomes, says_events
from soden.predicting import Predictor, after
from soden.sklearn_api import warn
from soden.training import resolve_device
from soden.types import FitOptions, FitReport, FloatArray, SurvivalData

SMALLEST_BATCH, LARGEST_BATCH, STEPS_PER_EPOCH = 32, 256, 20  # of batch_size="auto"
RISK_TIMES = 100  # at most so many event times make up the risk score
STEPS = 1000  # at most so many times make up a step function


class FitDiverged(RuntimeError):
    """Training left the finite numbers before its first epoch ended: there is no model."""


class SODEN(Predictor):
    """Survival curves of any shape: the hazard h(Lambda_x(t), t; x) is one network, trained through its ODE.

    Features and times may come as they are: features are standardised, and networks run on a clock of their own, so the
    unit of time (days, months, years) does not matter. All predictions are in your unit.

    Parameters
    ----------
    hidden : int, default 32
        Width of the hidden layers of each network.
    layers : int, default 2
        Number of hidden layers.
    gru_hidden : int, default 16
        Width of the GRU that reads series (`seq=`).
    lr : float, default 3e-3
        Learning rate of RMSProp; gradients longer than 100 are clipped.
    weight_decay : float, default 1e-2
        Pull of all weights towards 0.
    batch_size : int or "auto", default 64
        Rows per step; "auto" takes a twentieth of the training rows, at least 32 and at most 256.
    max_epochs : int, default 100
        Most passes over the training rows.
    patience : int, default 10
        Training stops after so many epochs without a better validation loss; the best state is kept.
    n_models : int, default 5
        Networks that are trained from other weights on other parts of the rows; S is the mean of theirs.
    validation_split : float, default 0.2
        Share of the rows held out for early stopping, by each model another part, unless `fit` gets validation data;
        0 holds out none and watches the training loss.
    standardise : bool, default True
        False if the features are on comparable scales already.
    time_scale : {"auto", "nelson-aalen", "linear", "own"}, default "auto"
        The clock that networks run on. "nelson-aalen", which "auto" means: the cumulative hazard of the training rows,
        made smooth, so that the networks learn departures from it; "linear": time divided by its mean, which gives
        smoother hazards but worse early risks; "own": your time as it is.
    solver : {"fast", "adjoint"}, default "fast"
        "adjoint" is the paper's own scheme (slow; needs torchdiffeq).
    device : str, default "auto"
        "auto" takes the GPU if there is one; or "cpu", "cuda", "cuda:1".
    warm_start : bool, default False
        The next `fit` goes on from the weights, and keeps the scaling, of the last one.
    verbose : {0, 1, 2}, default 0
        0 is silent, 1 shows a bar (in a log: one line per model), 2 a line per epoch, on stderr.
    random_state : int or None, default 0
        Seed of the initial weights, batches and held-out rows; None for another fit each time.
    n_jobs : int, default 1
        Networks that are trained at once, each by a process of its own; the result is the same.
    hazard : subclass of soden.hazard.Hazard, optional
        A hazard of your own instead of the network, a class with the method `forward(Lambda, t, encoded)`, which
        returns h(Lambda, t; x) of n subjects. Unless `time_scale` says otherwise its t is your time.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X that predictions must be given.
    feature_names_in_ : ndarray of str
        Their names, where `fit` got a data frame.
    n_samples_, n_events_ : int
        Subjects and events of the last fit.
    start_, horizon_ : float
        First and last time that predictions speak of. With late entry the first is where enough subjects, 20, were
        under observation: S is 1 before it, so all curves are conditional on being event-free then.
    ranges_ : ndarray (2, p)
        The least and the largest value of each feature; predictions far outside of them bring a warning.
    unique_times_ : ndarray
        Training times, at most 1,000 of them, where step functions step.
    reports_ : list of FitReport
        How each training went.
    models_ : list of OdeModel
        The networks with their solvers, in scaled units.

    Examples
    --------
    Times to an event with the hazard exp(x) per year, half of the subjects watched for one year only:

    >>> import numpy as np
    >>> from soden import SODEN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> died = rng.exponential(np.exp(-X[:, 0]))
    >>> watched = rng.choice([1.0, 10.0], 400)
    >>> time, event = np.minimum(died, watched), died <= watched
    >>> model = SODEN(n_models=1, max_epochs=20).fit(X, time, event)
    >>> S = model.predict_survival([[0.0]], [0.5, 1.0])
    >>> bool(np.allclose(S, np.exp([[-0.5, -1.0]]), atol=0.1))  # 0.61 and 0.37 in truth
    True
    """

    _model_class: ClassVar[type[OdeModel]] = Soden

    def __init__(
        self,
        hidden: int = 32,
        layers: int = 2,
        gru_hidden: int = 16,
        lr: float = 3e-3,
        weight_decay: float = 1e-2,
        batch_size: int | Literal["auto"] = 64,
        max_epochs: int = 100,
        patience: int = 10,
        n_models: int = 5,
        validation_split: float = 0.2,
        standardise: bool = True,
        time_scale: Literal["auto", "nelson-aalen", "linear", "own"] = "auto",
        solver: Literal["fast", "adjoint", "direct"] = "fast",
        device: str = "auto",
        warm_start: bool = False,
        verbose: int = 0,
        random_state: int | None = 0,
        n_jobs: int = 1,
        hazard: type[Hazard] | None = None,
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
        self.time_scale = time_scale
        self.solver = solver
        self.device = device
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.hazard = hazard

    # Learning

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
        id: Any = None,
        X_val: Any = None,
        time_val: Any = None,
        event_val: Any = None,
        entry_val: Any = None,
        sample_weight_val: Any = None,
        seq_val: Any = None,
    ) -> Self:
        """Learn from n subjects.

        Parameters
        ----------
        X : array or data frame (n, p)
            Features, all numbers and none missing. Outcomes may be columns of the frame, given by their names,
            `fit(frame, "time", "died")`; all other columns are then features.
        y : array (n,), structured array (n,) or data frame (n, 2)
            Observed times, or times and events as scikit-survival has them. Times alone mean that every event was
            observed, and bring a warning. A time of 0 is an event, or a loss, right at the start.
        event : array (n,), optional
            1 or True where the event was observed, 0 or False where censored.
        time : array (n,), optional
            The observed times, instead of `y`.
        entry : array (n,), optional
            When subjects came under observation (left truncation): they count by Lambda(y) - Lambda(entry).
        sample_weight : array (n,), optional
            How much each subject counts; only ratios matter. Subjects of weight 0 are left out.
        seq : array (n, steps, channels), optional
            Series.
        id : array (n,), optional
            Whose row it is. SODENPH and SODENCox take several rows of one subject, intervals (entry, time] between
            which features change; the event ends the last. SODEN refuses them: its hazard depends on Lambda, which
            past features made.
        X_val, time_val, event_val, entry_val, sample_weight_val, seq_val : optional
            Data in the same forms that decide when training stops, instead of held-out rows.

        Returns
        -------
        self

        Raises
        ------
        FitDiverged
            If no epoch ends with finite numbers. If a later one does not, the best state before it is kept, with a
            warning.

        Examples
        --------
        >>> model.fit(X, time, event).n_samples_
        400
        """
        if self.hazard is not None and self._model_class is not Soden:
            raise ValueError(f"{type(self).__name__} has a hazard already; pass yours to SODEN")
        check_parameters(self.get_params())  # not in __init__: scikit-learn wants values kept as they come
        X, y, event, entry, sample_weight, id = by_name(X, either(y, time), event, entry, sample_weight, id)
        rows, seen = self._observed(X, y, event, entry, sample_weight, seq, id)
        if len(rows.x) < 2:
            raise ValueError(f"cannot learn from n_samples={len(rows.x)}: at least two subjects are needed")
        if not says_events(y, event):
            warn(
                f"no events were given, so all {len(rows.x)} times count as observed events; pass event, 1 observed, "
                "0 censored. event=np.ones(len(time)) says the same without this warning"
            )
        check_constant(rows.x, column_names(X))
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if self.random_state is None else self.random_state
        go_on = self.warm_start and self.__sklearn_is_fitted__()
        if go_on:
            self._check_same(X, rows)
        valid = None
        if X_val is not None:
            named = X_val, time_val, event_val, entry_val, sample_weight_val
            X_val, time_val, event_val, entry_val, sample_weight_val = by_name(*named)
            check_columns(X_val, column_names(X), rows.x.shape[1], type(self).__name__)
            rows_val, seen_val = self._observed(X_val, time_val, event_val, entry_val, sample_weight_val, seq_val)
            if rows_val.channels != rows.channels:
                raise ValueError(
                    f"seq has {rows.channels} series per subject, seq_val {rows_val.channels}; pass the same"
                )
            if not says_events(time_val, event_val):
                warn(f"no event_val was given, so all {len(rows_val.x)} validation times count as observed events")
            valid = rows_val, seen_val
        elif not all(value is None for value in (time_val, event_val, entry_val, sample_weight_val, seq_val)):
            raise ValueError("validation data need X_val as well as time_val and event_val")
        self._train(rows, seen, valid, int(seed), go_on)
        self._remember(rows, seen, column_names(X))
        return self

    def _observed(
        self, X: Any, y: Any, event: Any, entry: Any, weight: Any, seq: Any, subject: Any = None
    ) -> tuple[Rows, Outcomes]:
        """Checked features and outcomes, without rows of weight 0, so that no batch has total weight 0."""
        rows = self._read(X, seq)
        if seq is not None and not self._model_class.takes_seq:
            raise ValueError(f"{type(self).__name__} is linear in static features and takes no series; use SODEN")
        if len(rows.x) < 2:  # `fit` refuses them
            return rows, Outcomes(np.ones(len(rows.x)), np.ones(len(rows.x), dtype=bool))
        seen = outcomes(y, event, len(rows.x), entry, weight, subject)
        if self._model_class is Soden and subject is not None and len(np.unique(subject)) < len(rows.x):
            raise ValueError(
                "SODEN takes one row per subject: its hazard depends on Lambda, which the features of all earlier "
                "intervals made. Use SODENPH or SODENCox for rows with the same id, or a landmark and seq="
            )
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
        """Hyper-parameters of a network for n training rows."""
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
        return saved.plain(hyper)

    def _train(self, rows: Rows, seen: Outcomes, valid: tuple[Rows, Outcomes] | None, seed: int, go_on: bool) -> None:
        """Train each member on its own part of the rows; `go_on` starts from the weights of the last fit."""
        options = FitOptions(self.max_epochs, self.patience, device=self.device, progress=int(self.verbose))
        usual = "nelson-aalen" if self.hazard is None else "own"
        time_scale = usual if self.time_scale == "auto" else self.time_scale
        self.start_ = start_of(seen) if time_scale == "nelson-aalen" else 0.0
        if self.start_:  # what ended before is not spoken of
            rows, seen = after(rows, seen, self.start_)
            valid = None if valid is None else after(*valid, self.start_)
        earlier = list(zip(self.models_, self.scalings_, strict=True)) if go_on else []
        members: list[Member] = []
        scalings = []
        for member in range(self.n_models):
            share = self.validation_split if valid is None else 0.0
            chosen, others = held_out_rows(seen.event, share, seed, member, seen.subject)
            # What a member holds out must not teach it, not even means and scales: each has its own.
            start, scaling = earlier[member] if member < len(earlier) else (None, None)
            if scaling is None:
                of = rows.take(chosen), seen.take(chosen)
                scaling = Scaling.learn(*of, self.standardise, time_scale, self.start_)
            data = scaling.survival(rows, seen)
            train, held_out = data.take(chosen), data.take(others) if valid is None else scaling.survival(*valid)
            hyper, weights = self._hyper(len(train)), None if start is None else start.net.state_dict()
            own = seed if member == 0 else int(np.random.SeedSequence([seed, member]).generate_state(1)[0])
            training = _spread(train), held_out, own
            members.append(Member(self._model_class, self.hazard, hyper, options, weights, *training))
            scalings.append(scaling)
        models, reports = [], []
        with prepared(resolve_device(self.device)), interruptible():
            for model, report in all_trained(members, self.n_jobs):
                self._check_report(report)
                # A prediction must not depend on which rows come along; in float32 it would, in the seventh digit.
                model.net.double()
                model.choose_backends()
                models.append(model)
                reports.append(report)
        self.models_, self.scalings_, self.reports_ = models, scalings, reports

    def _check_report(self, report: FitReport) -> None:
        advice = f"Lower lr (it is {self.lr:g}), or check the features for extreme values"
        if not report.best_epoch:
            raise FitDiverged(f"training diverged in its first epoch: {report.message}. {advice}")
        if report.status == "diverged":
            warn(
                f"training diverged in epoch {report.epochs}: {report.message}. "
                f"The best state before it, of epoch {report.best_epoch}, is kept. {advice}",
                RuntimeWarning,
            )

    def _remember(self, rows: Rows, seen: Outcomes, names: list[str] | None) -> None:
        self.n_features_in_ = rows.x.shape[1]
        self._set_names(names)
        self.horizon_ = float(seen.time.max())
        self.ranges_ = np.stack([rows.x.min(axis=0), rows.x.max(axis=0)])
        self.n_samples_, self.n_events_ = len(seen.time), int(seen.event.sum())
        shares = np.linspace(0, 1, min(RISK_TIMES, self.n_events_))
        self.risk_times_ = np.quantile(seen.time[seen.event], shares)
        times = np.unique(seen.time)
        if len(times) > STEPS:
            times = times[np.linspace(0, len(times) - 1, STEPS).round().astype(int)]
        self.unique_times_ = times

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
        """What was fitted to what, and how it went.

        Examples
        --------
        >>> print(model.summary().splitlines()[1])
          data        400 subjects, 322 events (80%), 1 feature, times up to 10
        """
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
            f"  validation  loss {_span([one.valid_loss for one in self.reports_], '.4f')} (on the networks' clock)",
        ]
        errors = [report.solver_error for report in self.reports_ if np.isfinite(report.solver_error)]
        if errors:
            lines.append(f"  solver      {self.solver}, relative error of Lambda in training at most {max(errors):.1e}")
        return "\n".join(lines)

    plot_survival = plot.plot_survival
    plot_hazard = plot.plot_hazard
    plot_partial_effects = plot.plot_partial_effects
    plot_calibration = plot.plot_calibration

    # Keeping

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a file; `load` reads it, also on a machine without a GPU.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model.pt")
        >>> model.save(path)
        >>> again = SODEN.load(path)
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        self._fitted()
        saved.write(path, saved.state_of(self))

    @classmethod
    def load(cls, path: str | Path, device: str = "auto", hazard: type[Hazard] | None = None) -> Self:
        """Read what `save` wrote; nothing in the file is executed.

        Parameters
        ----------
        path : str or Path
        device : str, default "auto"
            Where predictions are computed, as for the parameter `device`.
        hazard : subclass of soden.hazard.Hazard, optional
            The class that the model was fitted with, if it was one of your own: files hold no code.

        Returns
        -------
        SODEN

        Examples
        --------
        >>> SODEN.load(path).n_events_ == model.n_events_
        True
        """
        check_device(device)
        estimator = saved.restored(path, cls, hazard)
        for model in estimator.models_:
            model.net.to(resolve_device(device), torch.float64)
            model.choose_backends()
        return estimator

    # What these are made of

    def _set_names(self, names: list[str] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_


class SODENPH(SODEN):
    """Proportional hazards: lambda_x(t) = h0(t) g(x) with networks for both; parameters as for SODEN.

    Examples
    --------
    >>> import numpy as np
    >>> from soden import SODENPH
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> time, event = rng.exponential(np.exp(-X[:, 0])), np.ones(400)
    >>> model = SODENPH(n_models=1, max_epochs=20).fit(X, time, event)
    >>> low, high = model.predict_hazard([[-1.0], [1.0]], [0.2, 0.6])
    >>> bool(np.allclose(high / low, high[0] / low[0]))  # the same at all times
    True
    """

    _model_class: ClassVar[type[OdeModel]] = SodenPH

    def baseline_hazard(self, times: Any) -> FloatArray:
        """The hazard at `times`, (k,), at the mean features of the training rows (0 if `standardise=False`).

        Examples
        --------
        >>> bool(abs(model.baseline_hazard([0.25, 0.5, 1.0]).mean() - 1) < 0.3)  # in truth 1 at all times
        True
        """
        scalings = self._fitted().scalings_
        x, seq = (np.mean([getattr(one, name) for one in scalings], axis=0) for name in ("x_mean", "seq_mean"))
        mean = Rows(x[None], seq[None, None] if len(seq) else None)
        return self._curves(mean, self._times(times), hazard=True)[0]  # type: ignore[no-any-return]


class SODENCox(SODENPH):
    """Proportional hazards, linear in the features: h0(t) exp(x beta), a network for h0; parameters as for SODEN.

    Examples
    --------
    >>> import numpy as np
    >>> from soden import SODENCox
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 1))
    >>> time, event = rng.exponential(np.exp(-X[:, 0])), np.ones(400)
    >>> model = SODENCox(n_models=1, max_epochs=20).fit(X, time, event)
    >>> bool(np.allclose(model.coef_, 1, atol=0.3)), bool(np.allclose(model.hazard_ratios_, np.exp(model.coef_)))
    (True, True)
    """

    _model_class = SodenCox

    @property
    def hazard_ratios_(self) -> FloatArray:
        """Factors of the hazard per unit of each feature, (p,): exp(`coef_`)."""
        return np.exp(self.coef_)

    @property
    def coef_(self) -> FloatArray:
        """Log hazard ratios per unit of each feature, (p,): the mean over the members."""
        pairs = zip(self._fitted().models_, self.scalings_, strict=True)
        each = [model.net.beta.detach().cpu().numpy() / scaling.x_std for model, scaling in pairs]  # type: ignore[operator]
        mean: FloatArray = np.mean(each, axis=0)
        return mean


def _spread(data: SurvivalData) -> SurvivalData:
    """The same data with heavy rows repeated, each copy at most of mean weight.

    One row of a hundred times the weight would come as rare huge gradients, which RMSProp and clipping cut.
    """
    if data.weight is None:
        return data
    copies = np.ceil(data.weight / data.weight.mean()).astype(int)
    spread = vars(data) | {"weight": data.weight / copies}
    return SurvivalData.trusted(spread).take(np.repeat(np.arange(len(data)), copies))


def _count(n: int, what: str) -> str:
    """1 feature, 2 features."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def _span(values: list[Any], form: str = "") -> str:
    """The value, or the least and the most of several."""
    low, high = f"{min(values):{form}}", f"{max(values):{form}}"
    return low if low == high else f"{low} to {high}"
