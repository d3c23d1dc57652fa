"""Preprocessing equals the authors' released inputs and never learns from valid or test."""

from collections.abc import Callable

import numpy as np
import pytest
from conftest import beside
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from benchmarks.data import Dataset
from benchmarks.data.preprocess import Preprocessor, design, design_columns, prepared
from benchmarks.data.splits import PARTS, Split, make_split
from soden.types import SurvivalData

Load = Callable[[str], Dataset]
NAN = float("nan")
INPUTS = {"support": 27, "metabric": 9}


def table(x: object, categorical: dict[str, tuple[float, ...]] | None = None, seq: object = None) -> Dataset:
    values = np.asarray(x, dtype=float)
    n, p = values.shape
    names = tuple("abcdef"[:p])
    channels = () if seq is None else tuple("uvw"[: np.shape(seq)[2]])
    time, event = np.arange(1.0, n + 1), np.arange(n) % 2 == 0
    return Dataset("toy", "TOY", time, event, values, names, categorical or {}, seq, channels)


def trained(dataset: Dataset, split: Split) -> SurvivalData:
    train = dataset.take(split.train)
    return Preprocessor.fit(train).transform(train)


@pytest.mark.parametrize("name", INPUTS)
def test_equals_the_released_inputs(name: str, load_public: Load) -> None:
    """Data set, split and preprocessing give the authors' arr_0, their times + 0.001 and their events, row by row."""
    folder, dataset = beside(f"released-splits/{name}"), load_public(name)
    for split in range(1, 11):
        rows = make_split(dataset, "released", split)
        for part, ours in zip(PARTS, prepared(dataset, rows, *PARTS), strict=True):
            with np.load(folder / f"{part}_{split}.npz") as file:
                x, outcome, raw = file["arr_0"], file["arr_1"], file["arr_2"]
            mine = design(dataset.take(rows.part(part))).astype(np.float32)
            order, theirs = (
                np.lexsort(np.column_stack(table).T) for table in ((mine, ours.time, ours.event), (raw, outcome))
            )
            assert ours.x.shape == (len(x), INPUTS[name])
            np.testing.assert_array_equal(mine[order], raw[theirs])
            x = x[theirs]
            difference = np.abs(ours.x[order].astype(float) - x)
            # A rare dummy reaches 73 when standardised, where one step of float32 is 7.6e-6: two steps are allowed.
            assert (difference <= np.where(np.abs(x) < 32, 2e-6, 2 * np.spacing(np.abs(x)))).all()
            np.testing.assert_array_equal(ours.time[order], outcome[theirs, 0] + 0.001)
            np.testing.assert_array_equal(ours.event[order], outcome[theirs, 1] == 1)


def test_inputs_have_the_released_order(load_public: Load) -> None:
    names = design_columns(load_public("support"))
    assert names[:8] == ("age", "meanbp", "hrt", "resp", "temp", "sod", "wblc", "crea")
    assert names[8:10] == ("sex=1", "num.co=1")
    assert names[17:] == (
        *("num.co=9", "race=1", "race=2", "race=3", "race=4", "race=5"),
        *("diabetes=1", "dementia=1", "ca=1", "ca=2"),
    )
    genes = ("MKI67", "EGFR", "PGR", "ERBB2", "age")
    treated = ("hormone=1", "radiotherapy=1", "chemotherapy=1", "ER_positive=1")
    assert design_columns(load_public("metabric")) == genes + treated


def test_two_support_dummies_are_constant_in_six_training_parts(load_public: Load) -> None:
    dataset = load_public("support")
    constant = {}
    for split in range(1, 11):
        train, test = prepared(dataset, make_split(dataset, "released", split), "train", "test")
        if columns := np.flatnonzero(np.ptp(train.x, axis=0) == 0).tolist():
            constant[split] = [design_columns(dataset)[c] for c in columns]
            assert set(np.unique(test.x[:, columns])) <= {0.0, 1.0}, "left unscaled"
    assert set(constant) == {2, 3, 4, 5, 7, 8}
    assert {c for columns in constant.values() for c in columns} == {"num.co=8", "num.co=9"}


matrices = st.integers(3, 30).flatmap(
    lambda n: st.lists(
        st.lists(st.one_of(st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0])), min_size=3, max_size=3),
        min_size=n,
        max_size=n,
    )
)


@settings(max_examples=60, deadline=None)
@given(matrices)
def test_agrees_with_scikit_learn(rows: list[list[float]]) -> None:
    """StandardScaler has the same convention for constant columns: centred, not scaled."""
    x = np.round(rows, 3)  # scikit-learn calls columns of rounding noise constant; we ask for exact equality
    expected = StandardScaler().fit_transform(x)
    np.testing.assert_allclose(Preprocessor.fit(table(x)).transform(table(x)).x, expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_valid_and_test_rows_teach_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=20), rng.integers(0, 3, 20)])
    seq = rng.normal(size=(20, 4, 2))
    rows = rng.permutation(20)
    split = Split(rows[:12], rows[12:16], rows[16:])
    levels = {"b": (0.0, 1.0, 2.0)}
    before = trained(table(x, levels, seq), split)
    x[rows[12:]] = np.column_stack([rng.normal(1e6, 1e6, 8), rng.integers(0, 3, 8)])
    x[rows[12], 0] = NAN
    seq[rows[12:]] *= 1e6
    after = trained(table(x, levels, seq), split)
    np.testing.assert_array_equal(before.x, after.x)
    np.testing.assert_array_equal(before.seq, after.seq)


def test_constant_columns_are_centred_and_left_unscaled() -> None:
    train, test = table([[0.1, 7.0]] * 7 + [[0.1, 8.0]]), table([[0.1, 7.0], [1.1, 8.0]])
    fitted = Preprocessor.fit(train)
    assert fitted.sd[0] == 1, "seven copies of 0.1 have a mean a little off 0.1; the sd must not be that little"
    assert fitted.transform(train).x[:, 0].tolist() == [0.0] * 8
    np.testing.assert_allclose(fitted.transform(test).x[:, 0], [0.0, 1.0])


def test_missing_values_become_the_training_mean() -> None:
    fitted = Preprocessor.fit(table([[1.0, 0], [3.0, 1], [NAN, NAN], [5.0, 1]], {"b": (0, 1)}))
    assert fitted.mean.tolist() == pytest.approx([3.0, 2 / 3])
    assert fitted.sd.tolist() == pytest.approx([np.sqrt(8 / 3), np.sqrt(2) / 3])
    x = fitted.transform(table([[NAN, NAN], [5.0, 0]], {"b": (0, 1)})).x
    assert x[0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(x[1], [2 / np.sqrt(8 / 3), -np.sqrt(2)], rtol=1e-6)


def test_a_column_without_a_value_in_train_says_nothing() -> None:
    fitted = Preprocessor.fit(table([[1.0, NAN], [2.0, NAN]]))
    assert fitted.transform(table([[1.0, 5.0], [2.0, NAN]])).x[:, 1].tolist() == [0.0, 0.0]


def test_one_level_gives_no_input_and_a_rare_level_keeps_its_own() -> None:
    levels = {"a": (3.0,), "b": (0.0, 1.0, 2.0)}
    train = table([[3, 0], [3, 1], [3, 1]], levels)
    assert design_columns(train) == ("b=1", "b=2")
    fitted = Preprocessor.fit(train)
    np.testing.assert_allclose(fitted.transform(table([[3, 2], [3, 0]], levels)).x[:, 1], [1.0, 0.0])


def test_unseen_levels_and_other_columns_are_refused() -> None:
    levels = {"b": (0.0, 1.0)}
    fitted = Preprocessor.fit(table([[1, 0], [2, 1]], levels))
    with pytest.raises(
        ValueError, match=r"column 'b' holds \[2\.0\], not among its levels \(0\.0, 1\.0\); add the level"
    ):
        table([[1, 2], [2, 1]], levels)
    with pytest.raises(
        ValueError, match=r"toy gives the inputs \('a', 'b=1', 'b=2'\), but .* fitted on \('a', 'b=1'\)"
    ):
        fitted.transform(table([[1, 2], [2, 1]], {"b": (0.0, 1.0, 2.0)}))
    with pytest.raises(ValueError, match="fit and transform parts of one data set"):
        fitted.transform(table([[1, 0], [2, 1]], levels, np.zeros((2, 3, 1))))


def test_series_are_standardised_per_channel_over_rows_and_steps() -> None:
    rng = np.random.default_rng(0)
    seq = rng.normal([3.0, -1.0, 5.0], [2.0, 1.0, 0.0], size=(6, 4, 3))
    seq[0, 1, 0] = np.nan
    seq[1, 0, 0] = np.inf
    part = table(np.zeros((6, 1)), seq=seq)
    out = Preprocessor.fit(part).transform(part).seq
    flat = part.seq.astype(float)[..., 0]
    known = np.isfinite(flat)
    expected = np.where(known, (flat - flat[known].mean()) / flat[known].std(), 0.0)
    np.testing.assert_allclose(out[..., 0], expected, rtol=1e-5, atol=1e-6)
    assert out[0, 1, 0] == out[1, 0, 0] == 0
    assert (out[..., 2] == 0).all(), "a constant channel becomes 0"


def test_no_columns_at_all_is_a_series_only_data_set() -> None:
    part = table(np.zeros((3, 0)), seq=np.arange(6.0).reshape(3, 2, 1))
    assert Preprocessor.fit(part).transform(part).x.shape == (3, 0)
