"""What fits need of the machine: inner loops that are compiled once, or one thread where numba is missing."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from soden.backends import available
from soden.sklearn_api import warn


@contextmanager
def prepared(device: torch.device) -> Iterator[None]:
    """Say that the first fit on this machine compiles; without numba train on one thread, which is faster there."""
    if device.type != "cpu":
        yield
    elif available():
        from soden import kernels

        if not Path(kernels._CACHE).exists():
            print("soden compiles its inner loops, once on this machine: half a minute of one core", file=sys.stderr)
        yield
    else:
        warn("without numba fits take several times as long: install it, or soden[speed]")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C within compiled code comes as a SystemError that it caused; make it a KeyboardInterrupt again."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def warm_up() -> None:
    """Compile the inner loops now, about half a minute of one core, so that no later fit on this machine does.

    What is compiled is kept beside the package, or, where that cannot be written to, in the temporary folder. Without
    numba there is nothing to compile.

    Examples
    --------
    >>> import soden
    >>> soden.warm_up()
    """
    from soden.estimator import SODEN, SODENPH, SODENCox

    rng = np.random.default_rng(0)
    X, time, event = rng.normal(size=(64, 2)), rng.exponential(size=64), np.arange(64) % 3 > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cls, seq in ((SODEN, None), (SODENPH, None), (SODENCox, None), (SODEN, rng.normal(size=(64, 3, 2)))):
            model = cls(n_models=1, max_epochs=1).fit(X, time, event, seq=seq)
            model.predict_hazard(X, time, seq=seq)
