"""What a fitted model answers: curves, times, risks, and how good they are. `soden.estimator` has what is learnt."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from soden import curves
from soden.concordance import blocks, concordance
from soden.inputs import Rows, Scaling, check_columns, check_ranges, checked_times, feature_matrix, series
from soden.machine import interruptible
from soden.models import OdeModel
from soden.outcomes import Outcomes, by_name, either, outcomes, says_events
from soden.sklearn_api import Estimator, not_fitted, warn
from soden.types import FitReport, FloatArray

GRID = 2049  # times between 0 and the horizon at which curves are inverted and integrated
ROUTING = (
    "A search such as GridSearchCV hands `event` to fit but not to score: give it both in one, "
    ".fit(X, Surv.from_arrays(event, time)) of sksurv.util, or turn on scikit-learn's metadata routing, "
    "sklearn.set_config(enable_metadata_routing=True)"
)


class Predictor(Estimator):
    """A model with the attributes that `fit` sets."""

    models_: list[OdeModel]
    scalings_: list[Scaling]  # of each model's own training rows
    reports_: list[FitReport]
    start_: float
    horizon_: float
    ranges_: FloatArray  # (2, p): the least and the largest value of each feature; not of models saved by soden 1
    risk_times_: FloatArray
    unique_times_: FloatArray
    n_features_in_: int
    n_samples_: int
    n_events_: int
    feature_names_in_: npt.NDArray[Any]

    def predict_survival(
        self, X: Any, times: Any, seq: Any = None, members: bool = False, given: float | None = None
    ) -> FloatArray:
        """Survival S_x(t) = P(T > t | x).

        Parameters
        ----------
        X : array or data frame (n, p)
            Features, with the columns of `fit`.
        times : array (k,)
            In any order; beyond `horizon_` curves are extrapolated, with a warning.
        seq : array (n, steps, channels), optional
            Series, if the model was fitted with them.
        members : bool, default False
            True returns each network's own curves, of which S is the mean.
        given : float, optional
            Condition on being event-free at this time: S_x(t) / S_x(given), and 1 before it.

        Returns
        -------
        ndarray (n, k), or (n_models, n, k) of the members

        Examples
        --------
        >>> model.predict_survival(X[:3], [0.5, 1.0]).shape
        (3, 2)
        """
        Lambda = self.predict_cumulative_hazard(X, times, seq, members)
        if given is not None:
            Lambda = np.maximum(Lambda - self.predict_cumulative_hazard(X, given, seq, members), 0)
        survival: FloatArray = np.exp(-Lambda)
        return survival

    def predict_cumulative_hazard(self, X: Any, times: Any, seq: Any = None, members: bool = False) -> FloatArray:
        """Cumulative hazard Lambda_x(t) = -log S_x(t); parameters and shape as for `predict_survival`.

        Examples
        --------
        >>> Lambda = model.predict_cumulative_hazard(X, [1.0])
        >>> bool(np.allclose(np.exp(-Lambda), model.predict_survival(X, [1.0])))
        True
        """
        return self._curves(self._rows(X, seq), self._times(times), members)

    def predict_hazard(self, X: Any, times: Any, seq: Any = None, members: bool = False) -> FloatArray:
        """Hazard lambda_x(t), events per unit of your time; parameters and shape as for `predict_survival`.

        Examples
        --------
        >>> low, high = model.predict_hazard([[-1.0], [1.0]], [0.5])[:, 0]  # in truth 0.37 and 2.7
        >>> bool(high > 2 * low)
        True
        """
        return self._curves(self._rows(X, seq), self._times(times), members, hazard=True)

    def predict_median(self, X: Any, seq: Any = None, horizon: float | None = None) -> FloatArray:
        """Median survival time, at which S_x falls to 1/2, shape (n,).

        inf where S_x stays above 1/2 up to `horizon`; see `predict_quantile`, of which this is q = 1/2.

        Examples
        --------
        >>> model.predict_median([[-1.0], [1.0]]).argmax()  # the lower hazard lives longer
        np.int64(0)
        """
        return self.predict_quantile(X, 0.5, seq, horizon)

    def predict_quantile(self, X: Any, q: Any, seq: Any = None, horizon: float | None = None) -> FloatArray:
        """The time by which the event has come with probability q: S_x(t) = 1 - q.

        Parameters
        ----------
        X, seq
            As for `predict_survival`.
        q : float or array (k,)
            Between 0 and 1.
        horizon : float, optional
            The latest time that is looked at; by default the largest training time, since beyond it no data speak.

        Returns
        -------
        ndarray (n,), or (n, k) for several q
            inf where S_x stays above 1 - q up to the horizon.

        Examples
        --------
        >>> early, late = model.predict_quantile([[0.0]], [0.25, 0.5])[0]
        >>> bool(early < late)
        True
        """
        rows = self._rows(X, seq)
        shares = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
            raise ValueError(f"q must lie between 0 and 1, both excluded; got {q!r}")
        grid, levels = self._grid(horizon), -np.log1p(-shares)
        result = np.empty((len(rows.x), len(shares)))
        for part in blocks(len(rows.x), GRID):
            for i, Lambda in enumerate(self._curves(rows.take(part), grid), part.start):
                result[i] = np.interp(levels, Lambda, grid, right=np.inf)
        return result[:, 0] if np.ndim(q) == 0 else result

    def predict_expected(self, X: Any, seq: Any = None, horizon: float | None = None) -> FloatArray:
        """Restricted mean survival time: the integral of S_x from 0 to `horizon`, shape (n,).

        `horizon` is the largest training time by default, since beyond it no data speak.

        Examples
        --------
        >>> bool((model.predict_expected(X, horizon=1.0) < 1.0).all())
        True
        """
        rows = self._rows(X, seq)
        grid = self._grid(horizon)
        u = np.linspace(0, 1, GRID)
        weights = np.full(GRID, 2.0)  # Simpson's 1, 4, 2, ..., 4, 1 in u, where t = horizon u^2
        weights[1::2], weights[[0, -1]] = 4.0, 1.0
        weights *= 2 * grid[-1] * u / (3 * (GRID - 1))
        parts = blocks(len(rows.x), GRID)
        return np.concatenate([np.exp(-self._curves(rows.take(part), grid)) @ weights for part in parts])

    def predict_survival_function(self, X: Any, return_array: bool = False, seq: Any = None) -> Any:
        """S_x in scikit-survival's form, for its scorers and tools; `predict_survival` needs no steps.

        Parameters
        ----------
        X, seq
            As for `predict_survival`.
        return_array : bool, default False
            True returns the values at `unique_times_`, (n, k), instead of StepFunctions.

        Returns
        -------
        ndarray of sksurv.functions.StepFunction (n,), or ndarray (n, k)

        Examples
        --------
        >>> model.predict_survival_function(X[:3], return_array=True).shape == (3, len(model.unique_times_))
        True
        """
        return self._functions(self.predict_survival(X, self._fitted().unique_times_, seq), return_array)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False, seq: Any = None) -> Any:
        """Lambda_x in the same forms as `predict_survival_function`.

        Examples
        --------
        >>> model.predict_cumulative_hazard_function(X[:3], return_array=True).shape == (3, len(model.unique_times_))
        True
        """
        return self._functions(self.predict_cumulative_hazard(X, self._fitted().unique_times_, seq), return_array)

    def predict(self, X: Any, seq: Any = None) -> FloatArray:
        """A risk score, shape (n,), higher for an earlier event: Lambda_x averaged over the training event times.

        scikit-survival's convention, so its metrics and scikit-learn's tools take it; for one SODENPH or SODENCox
        (`n_models=1`) it orders subjects as their hazard ratio does.

        Examples
        --------
        >>> low, high = model.predict([[-1.0], [1.0]])
        >>> bool(low < high)
        True
        """
        rows = self._rows(X, seq)
        parts = blocks(len(rows.x), len(self.risk_times_))
        return np.concatenate([self._curves(rows.take(part), self.risk_times_).mean(axis=1) for part in parts])

    # Judging

    def score(
        self, X: Any, y: Any = None, event: Any = None, *, time: Any = None, entry: Any = None, seq: Any = None
    ) -> float:
        """Time-dependent concordance: 1 is perfect, 1/2 is chance. It judges order alone, `log_likelihood` the curves.

        Of all pairs with an event at y_i and a subject known to be event-free for longer, the share in which S(y_i) is
        lower for the former; equal predictions count 1/2. It is Harrell's C where curves do not cross. Antolini's C of
        the benchmark differs where times are tied: it also counts pairs of two events at one time, with 1/2.

        Parameters
        ----------
        X, y, event, time, entry, seq
            Data to judge by, in the same forms as for `fit`. Without two subjects of known order there is no score.

        Returns
        -------
        float

        Examples
        --------
        >>> model.score(X, time, event) > 0.7
        True
        """
        X, y, event, entry = by_name(X, either(y, time), event, entry)
        rows = self._rows(X, seq)
        seen = self._judged(y, event, len(rows.x), entry)
        return concordance(lambda part, times: self._curves(rows.take(part), times), seen.time, seen.event, seen.entry)

    def log_likelihood(
        self,
        X: Any,
        y: Any = None,
        event: Any = None,
        *,
        time: Any = None,
        entry: Any = None,
        sample_weight: Any = None,
        seq: Any = None,
    ) -> float:
        """The mean of event log lambda(y) - Lambda(y) + Lambda(entry), in your unit of time; higher is better.

        Of an ensemble, the likelihood of the mixture of its members.

        Parameters
        ----------
        X, y, event, time, entry, sample_weight, seq
            Data to judge by, in the same forms as for `fit`.

        Returns
        -------
        float

        Examples
        --------
        >>> truth = (event * X[:, 0] - time * np.exp(X[:, 0])).mean()  # of the hazard exp(x)
        >>> bool(abs(model.log_likelihood(X, time, event) - truth) < 0.1)
        True
        """
        X, y, event, entry, sample_weight = by_name(X, either(y, time), event, entry, sample_weight)
        rows = self._rows(X, seq)
        rows, seen = after(rows, self._judged(y, event, len(rows.x), entry, sample_weight), self.start_)
        scaled = [scaling.survival(rows, seen) for scaling in self.scalings_]
        terms = curves.log_likelihood(self.models_, scaled, [one.clock.rate(seen.time) for one in self.scalings_])
        return float(np.average(terms, weights=seen.weight))

    # What these are made of

    @property
    def scaling_(self) -> Scaling:
        """Of the first member."""
        return self.scalings_[0]

    def _judged(self, y: Any, event: Any, n: int, entry: Any, weight: Any = None) -> Outcomes:
        """Outcomes to judge predictions by; censored subjects must not be taken for events unasked."""
        if y is not None and not says_events(y, event) and self.n_events_ < self.n_samples_:
            raise ValueError(
                "these are times without events, but the model was fitted to censored times: every subject would count "
                f"as an event. Pass event as well. {ROUTING}"
            )
        return outcomes(y, event, n, entry, weight, learn=False)

    def _fitted(self) -> Self:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(type(self).__name__)
        return self

    def _functions(self, values: FloatArray, return_array: bool) -> Any:
        if return_array:
            return values
        try:
            from sksurv.functions import StepFunction
        except ImportError:
            raise ImportError(
                "step functions are scikit-survival's: install it, or ask for return_array=True"
            ) from None
        result = np.empty(len(values), dtype=object)
        for i, row in enumerate(values):
            result[i] = StepFunction(self.unique_times_, row, domain=(0, self.horizon_))
        return result

    def _grid(self, horizon: float | None) -> FloatArray:
        end = self.horizon_ if horizon is None else float(horizon)
        if not 0 < end < np.inf:
            raise ValueError(f"horizon must be positive and finite; got {horizon!r}")
        self._times(end)
        grid: FloatArray = end * np.linspace(0, 1, GRID) ** 2  # denser near 0, where steep curves fall
        return grid

    def _times(self, times: Any) -> FloatArray:
        """Checked times; those that no data speak of are extrapolated with a warning."""
        at = checked_times(times)
        if at.size and at.max() > self.horizon_:
            warn(f"times beyond horizon_ = {self.horizon_:g}, the last training time: curves are extrapolated there")
        return at

    def _read(self, X: Any, seq: Any) -> Rows:
        x = feature_matrix(X)
        return Rows(x, series(seq, len(x)))

    def _rows(self, X: Any, seq: Any) -> Rows:
        """Check features against those of `fit`; they are scaled block by block."""
        self._fitted()
        names = getattr(self, "feature_names_in_", None)
        check_columns(X, None if names is None else names.tolist(), self.n_features_in_, type(self).__name__)
        rows = self._read(X, seq)
        if hasattr(self, "ranges_"):
            check_ranges(rows.x, self.ranges_, names)
        channels = len(self.scaling_.seq_mean)
        if channels != rows.channels:
            raise ValueError(
                f"the model was fitted with {channels or 'no'} series per subject, so seq must have "
                + (f"shape (n, steps, {channels})" if channels else "been left out")
                + f"; got {'none' if rows.seq is None else rows.seq.shape}"
            )
        return rows

    def _curves(self, rows: Rows, times: FloatArray, members: bool = False, hazard: bool = False) -> FloatArray:
        """Lambda, or lambda, at times in any order, in the user's unit; block by block, whatever is asked for."""
        ordered, back = np.unique(times, return_inverse=True)
        count = len(self.models_)
        result = np.empty((count, len(rows.x), len(times)) if members else (len(rows.x), len(times)))
        for part in blocks(len(rows.x), count * len(times)):
            each = []
            for model, scaling in zip(self.models_, self.scalings_, strict=True):
                scaled, clock = scaling.features(rows.take(part)), scaling.clock
                end = float(clock.at(np.array(self.horizon_)))
                with interruptible():
                    one = curves.curves(model, scaled, clock.at(ordered), end, hazard)
                each.append(curves.in_unit(one, clock.rate(ordered)))
            both = curves.stacked(each, hazard) if members else curves.mixture(each, hazard)
            result[..., part, :] = both[..., back]
        return result


def after(rows: Rows, seen: Outcomes, start: float) -> tuple[Rows, Outcomes]:
    """The subjects who were under observation after `start`."""
    still = np.flatnonzero(seen.time > start)
    return rows.take(still), seen.take(still)
