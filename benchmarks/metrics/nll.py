"""Negative log-likelihood of held-out data (Section 5.3.4), for models that have a continuous-time likelihood."""

from __future__ import annotations

import numpy as np

from baselines.chunked import chunked_mean
from benchmarks.metrics.base import Metric, Outcome, Prediction
from soden.types import FloatArray


class NegativeLogLikelihood(Metric):
    """NLL = mean of -Delta_i log lambda_i(y_i) + Lambda_i(y_i).

    published: the unweighted mean of the means of time-sorted chunks of 1024 subjects. text: the plain mean.
    """

    name = "nll"
    label = "NLL"
    higher_is_better = False
    truncated = False

    def times(self, outcome: Outcome) -> FloatArray:
        """None: the model gives the terms itself."""
        return np.empty(0)

    def applies(self, prediction: Prediction) -> bool:
        """Only where the model has a likelihood."""
        return prediction.nll is not None

    def compute(self, prediction: Prediction, level: str) -> float:
        """Average the terms."""
        if prediction.nll is None:
            raise ValueError("this model has no continuous-time likelihood, so there is no NLL to average")
        if prediction.outcome.convention == "text":
            return float(np.mean(prediction.nll))
        return chunked_mean(prediction.nll, prediction.outcome.time)
