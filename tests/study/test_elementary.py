"""From a fitted model's weights to its scores, no function is called whose bits depend on the processor."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import short_trials

from benchmarks import elementary, numerics, registry
from benchmarks.elementary import portable_functions
from benchmarks.study import trial
from benchmarks.study.evaluate import score

# Seen in a debugger: the calls by which torch 2.13 on a CPU enters MKL's vector mathematics (vmsExp, vmdLn ...).
# Others, such as log1p, expm1, sigmoid, softplus, softmax and pow, are torch's own, compiled for AVX2.
BY_PROCESSOR = {*elementary.UNARY, *elementary.REFUSED, "logsumexp"}
WATCHED = BY_PROCESSOR | {"log1p", "expm1", "pow", "sigmoid", "softplus"}


class Watch(TorchDispatchMode):
    """The names of the elementary functions that reach torch's CPU code."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.removeprefix("aten::").removesuffix("_")
        if name in WATCHED and isinstance(args[0], torch.Tensor) and args[0].is_cpu:
            self.calls.add(name)
        return func(*args, **(kwargs or {}))


if numerics.mode() == "native":
    pytest.skip("native numerics promise no bits", allow_module_level=True)


@pytest.mark.parametrize("name", registry.names())
def test_scores_and_states_call_nothing_that_differs_by_processor(name: str) -> None:
    _, model = short_trials.trial(name)
    valid, test = short_trials.simulate(90, 2), short_trials.simulate(60, 4)
    with Watch() as watch, portable_functions():
        score(model, test)
        model.state()
    assert not watch.calls & BY_PROCESSOR
    if model.select_by == "ctd":  # the validation score of a trial is made of predictions, outside the replacement
        with Watch() as watch:
            trial._score(model, 0.0, valid)
        assert not watch.calls & BY_PROCESSOR


def test_the_watch_sees_what_is_called() -> None:
    _, model = short_trials.trial("cox_time")
    with Watch() as watch:
        model.predict_survival(short_trials.simulate(60, 4), np.linspace(0, 3, 7))
    assert "exp" in watch.calls


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", sorted(elementary.UNARY))
def test_what_replaces_them_gives_their_values(name: str, dtype: torch.dtype) -> None:
    x = torch.rand(1000, dtype=dtype) * 3 + 0.01
    theirs, before = getattr(x, name)(), x.clone()
    with portable_functions():
        ours = getattr(x, name)()
        in_place = getattr(torch, name + "_")(before)
    assert ours.dtype is dtype
    torch.testing.assert_close(ours, theirs, rtol=4 * torch.finfo(dtype).eps, atol=0)
    assert torch.equal(in_place, ours)
    assert in_place is before


@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp(keepdim: bool) -> None:
    x = torch.randn(7, 5, dtype=torch.float64) * 300
    x[2] = -torch.inf
    with portable_functions():
        ours = x.logsumexp(1, keepdim=keepdim)
    torch.testing.assert_close(ours, x.logsumexp(1, keepdim=keepdim), rtol=1e-15, atol=0)


def test_a_function_that_cannot_be_replaced_is_refused() -> None:
    with portable_functions(), pytest.raises(ValueError, match="calls torch's erf, whose bits depend on the processor"):
        torch.ones(2).erf()


def test_native_numerics_replace_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numerics, "mode", lambda: "native")
    with Watch() as watch, portable_functions():
        torch.ones(2).erf()
    assert watch.calls == {"erf"}


def test_numpy_computes_with_what_every_such_processor_has() -> None:
    """numpy names the processor features it chose for each of its functions; AVX-512 would be X86_V4 or AVX512..."""
    from numpy.lib.introspect import opt_func_info

    chosen = {
        str(types["current"]) for signatures in opt_func_info().values() for types in signatures.values() if types
    }
    assert chosen
    assert not [target for target in chosen if "512" in target or "V4" in target]
