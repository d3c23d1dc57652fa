"""What scikit-learn asks of an estimator (clone, pipelines, searches), without needing scikit-learn."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any, Self


class Estimator:
    """Parameters are the arguments of `__init__`, stored under their names and checked in `fit`."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {p.name: p.default for p in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; `deep` is scikit-learn's and changes nothing here."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; takes effect at the next `fit`."""
        known = list(self._defaults())
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for {type(self).__name__}; valid are: {', '.join(known)}")
            setattr(self, name, value)
        return self

    def get_metadata_routing(self) -> Any:
        """For scikit-learn's metadata routing: whatever a method has a keyword for is wanted where it is given."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        for method in ("fit", "predict", "score"):
            for p in inspect.signature(getattr(self, method)).parameters.values():
                if p.name not in ("X", "y") and p.default is not p.empty:
                    getattr(request, method).add_request(param=p.name, alias=True)
        return request

    def __repr__(self) -> str:
        defaults = {name: repr(value) for name, value in self._defaults().items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if repr(value) != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """Risks are predicted, as a regressor does; a target is needed and is positive: times, or times with events."""
        from sklearn.utils import RegressorTags, Tags, TargetTags

        needed = TargetTags(required=True, positive_only=True)
        return Tags(estimator_type="regressor", target_tags=needed, regressor_tags=RegressorTags(poor_score=True))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")


def conversion_warning() -> type[Warning]:
    """scikit-learn's own kind where it is installed."""
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    kind: type[Warning] = DataConversionWarning
    return kind


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("soden."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def not_fitted(owner: str) -> Exception:
    """The error for a prediction before `fit`: scikit-learn's own kind where installed, else a ValueError."""
    message = f"This {owner} is not fitted yet: call fit(X, time, event) or {owner}.load(path) before predicting"
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(message)
    error: Exception = NotFittedError(message)
    return error
