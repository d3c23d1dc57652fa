"""Predictions with the same bits on every x86-64 processor: torch's elementary functions replaced by numpy's.

On a CPU, torch computes exp, log, tanh and a few others with MKL's vector mathematics, which chooses its code by the
processor even where `MKL_CBWR` asks for one result everywhere. Inside `portable_functions()` these calls are answered
by numpy in float64, whose code `benchmarks.numerics` fixes. Training does not run inside it: its bits stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import numerics
from soden.types import FloatArray

UNARY: dict[str, Callable[[FloatArray], FloatArray]] = {
    name: getattr(np, name) for name in ("exp", "log", "log2", "log10", "tanh", "sqrt", "sin", "cos", "tan")
}
# Also MKL's, and not in numpy.
REFUSED = ("acos", "asin", "atan", "erf", "erfc", "erfinv")


class _Portable(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Answers the calls that MKL would."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, variant = func._schema.name.removeprefix("aten::"), func._overloadname
        base = name.removesuffix("_")
        x = args[0] if args and isinstance(args[0], Tensor) else None
        if x is None or not x.is_cpu or not x.is_floating_point() or base not in (*UNARY, *REFUSED, "logsumexp"):
            return func(*args, **(kwargs or {}))
        if base in REFUSED or variant != "default":
            raise ValueError(
                f"a model's prediction calls torch's {base}, whose bits depend on the processor; "
                f"compute it with numpy or scipy, or with one of {', '.join(UNARY)}, logsumexp"
            )
        values = x.detach().double().numpy()
        with np.errstate(all="ignore"):  # torch does not warn either
            result = _logsumexp(values, *args[1:]) if base == "logsumexp" else UNARY[base](values)
        answer = torch.from_numpy(np.asarray(result)).to(x.dtype)
        return x.copy_(answer) if name.endswith("_") else answer


def _logsumexp(values: FloatArray, axes: Sequence[int], keepdim: bool = False) -> FloatArray:
    """The log of the sum of exponentials; -inf where all are."""
    largest = values.max(axis=tuple(axes), keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    total = largest + np.log(np.exp(values - largest).sum(axis=tuple(axes), keepdims=True))
    result: FloatArray = total if keepdim else np.squeeze(total, axis=tuple(axes))
    return result


@contextmanager
def portable_functions() -> Iterator[None]:
    """Inside this block predictions have the same bits on every processor; native numerics replace nothing."""
    if numerics.mode() == "native":
        yield
        return
    with torch.no_grad(), _Portable():  # type: ignore[no-untyped-call]
        yield
