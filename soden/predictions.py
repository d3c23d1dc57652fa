"""What a fitted estimator can be asked: curves, times, risk scores, and how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soden import curves
from soden.concordance import blocks, concordance
from soden.inputs import Rows, Scaling, check_columns, feature_matrix, series
from soden.models import OdeModel
from soden.outcomes import Outcomes, numbers, outcomes, says_events
from soden.sklearn_api import Estimator, not_fitted
from soden.types import FloatArray

GRID = 2049  # times between 0 and the horizon at which curves are inverted and integrated
RISK_TIMES = 100  # at most so many event times make up the risk score
STEPS = 1000  # at most so many times make up a step function
ROUTING = (
    "A search such as GridSearchCV hands `event` to fit but not to score: give it both in one, "
    ".fit(X, Surv.from_arrays(event, time)) of sksurv.util, or turn on scikit-learn's metadata routing, "
    "sklearn.set_config(enable_metadata_routing=True)"
)


class Predictions(Estimator):
    """Methods of a fitted ensemble: `models_`, each with the scaling of its own training rows in `scalings_`."""

    models_: list[OdeModel]
    scalings_: list[Scaling]
    horizon_: float
    risk_times_: FloatArray
    unique_times_: FloatArray
    n_features_in_: int
    n_samples_: int
    n_events_: int
    feature_names_in_: npt.NDArray[Any]

    @property
    def scaling_(self) -> Scaling:
        """Of the first member, the only one by default."""
        return self.scalings_[0]

    def predict_survival(self, X: Any, times: Any, seq: Any = None, members: bool = False) -> FloatArray:
        """S_x(t) = P(T > t | x), shape (n, len(times)); times in any order, also beyond the training times.

        `members=True` gives each member's own curves, shape (n_models, n, len(times)), of which S is the mean.
        """
        survival: FloatArray = np.exp(-self.predict_cumulative_hazard(X, times, seq, members))
        return survival

    def predict_cumulative_hazard(self, X: Any, times: Any, seq: Any = None, members: bool = False) -> FloatArray:
        """Lambda_x(t) = -log S_x(t), shape (n, len(times)), or (n_models, n, len(times)) of the members."""
        return self._curves(self._rows(X, seq), checked_times(times), members)

    def predict_hazard(self, X: Any, times: Any, seq: Any = None, members: bool = False) -> FloatArray:
        """lambda_x(t), events per unit of your time, shape (n, len(times)), or (n_models, n, len(times))."""
        return self._curves(self._rows(X, seq), checked_times(times), members, hazard=True)

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
        grid, wanted = self._grid(horizon), -np.log1p(-shares)
        result = np.empty((len(rows.x), len(shares)))
        for part in blocks(len(rows.x), GRID):
            for i, Lambda in enumerate(self._curves(rows.take(part), grid), part.start):
                result[i] = np.interp(wanted, Lambda, grid, right=np.inf)
        return result[:, 0] if np.ndim(q) == 0 else result

    def predict_expected(self, X: Any, seq: Any = None, horizon: float | None = None) -> FloatArray:
        """The mean time without the event up to `horizon`, the integral of S_x, shape (n,).

        By default up to the largest training time: the restricted mean, since beyond it no data speak.
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
        """S_x as scikit-survival has it: an array of its StepFunctions over `unique_times_`, or their values (n, k).

        For its scorers and for tools that expect its estimators. `predict_survival` needs no steps.
        """
        return self._functions(self.predict_survival(X, self._fitted().unique_times_, seq), return_array)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False, seq: Any = None) -> Any:
        """Lambda_x in the same forms."""
        return self._functions(self.predict_cumulative_hazard(X, self._fitted().unique_times_, seq), return_array)

    def predict(self, X: Any, seq: Any = None) -> FloatArray:
        """A risk score, shape (n,), higher for an earlier event: Lambda_x averaged over the training event times.

        scikit-survival's convention, so its metrics and scikit-learn's tools take it; for one SODENPH or SODENCox
        (`n_models=1`) it orders subjects as their hazard ratio does.
        """
        rows = self._rows(X, seq)
        parts = blocks(len(rows.x), len(self.risk_times_))
        return np.concatenate([self._curves(rows.take(part), self.risk_times_).mean(axis=1) for part in parts])

    def score(
        self, X: Any, y: Any = None, event: Any = None, *, time: Any = None, entry: Any = None, seq: Any = None
    ) -> float:
        """Antolini's time-dependent concordance: 1 is perfect, 1/2 is chance; outcomes in the same forms as for `fit`.

        Of all pairs whose order is known, the share in which the subject with the earlier event had the lower survival
        at that time (ties count 1/2). It is Harrell's C where curves do not cross, so comparable with scikit-survival's
        `score`. It judges order alone; `log_likelihood` judges the curves.
        """
        rows = self._rows(X, seq)
        seen = self._judged(either(y, time), event, len(rows.x), entry)
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
        """The mean of Delta log lambda(y) - Lambda(y) + Lambda(entry), in your unit of time; higher is better.

        Of an ensemble, the likelihood of the mixture of its members.
        """
        rows = self._rows(X, seq)
        seen = self._judged(either(y, time), event, len(rows.x), entry, sample_weight)
        scaled = [scaling.survival(rows, seen) for scaling in self.scalings_]
        terms = curves.log_likelihood(self.models_, scaled, [scaling.time for scaling in self.scalings_])
        return float(np.average(terms, weights=seen.weight))

    def _judged(self, y: Any, event: Any, n: int, entry: Any, weight: Any = None) -> Outcomes:
        """Outcomes to judge predictions by; censored subjects must not be taken for events unasked."""
        if y is not None and not says_events(y, event) and self.n_events_ < self.n_samples_:
            raise ValueError(
                "these are times without events, but the model was fitted to censored times: every subject would count "
                f"as an event. Pass event as well. {ROUTING}"
            )
        return outcomes(y, event, n, entry, weight)

    def _fitted(self) -> Predictions:
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
        grid: FloatArray = end * np.linspace(0, 1, GRID) ** 2  # denser near 0, where steep curves fall
        return grid

    def _read(self, X: Any, seq: Any) -> Rows:
        x = feature_matrix(X)
        return Rows(x, series(seq, len(x)))

    def _rows(self, X: Any, seq: Any) -> Rows:
        """Check features against those of `fit`; they are scaled block by block."""
        self._fitted()
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
        return rows

    def _curves(self, rows: Rows, times: FloatArray, members: bool = False, hazard: bool = False) -> FloatArray:
        """Lambda, or lambda, at times in any order, in the user's unit; block by block, whatever is asked for."""
        ordered, back = np.unique(times, return_inverse=True)
        count = len(self.models_)
        result = np.empty((count, len(rows.x), len(times)) if members else (len(rows.x), len(times)))
        for part in blocks(len(rows.x), count * len(times)):
            each = []
            for model, scaling in zip(self.models_, self.scalings_, strict=True):
                scaled, unit = scaling.features(rows.take(part)), scaling.time
                found = curves.curves(model, scaled, ordered / unit, self.horizon_ / unit, hazard)
                each.append(curves.in_unit(found, unit))
            both = curves.stacked(each, hazard) if members else curves.mixture(each, hazard)
            result[..., part, :] = both[..., back]
        return result


def either(y: Any, time: Any) -> Any:
    """Times may come as the second argument or by name, not both."""
    if y is not None and time is not None:
        raise ValueError("times came twice: as the second argument and as time=; pass one of them")
    return time if y is None else y


def checked_times(times: Any) -> FloatArray:
    """Times to predict at: one-dimensional, finite, not negative."""
    values = np.atleast_1d(numbers("times", times))
    if values.ndim != 1:
        raise ValueError(f"times must be one-dimensional; got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("times must be finite and not negative: survival before 0 is 1 and is not modelled")
    return values
