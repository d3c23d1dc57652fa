"""The raw table: what it refuses, how it is kept, and the paper's table of data sets."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import Dataset

NAN = float("nan")


def small(**change: object) -> Dataset:
    fields = {
        "name": "toy",
        "label": "TOY",
        "time": [1.0, 2.0, 3.0, 4.0],
        "event": [1, 0, 1, 0],
        "x": [[0.5, 0], [1.5, 1], [NAN, 2], [2.5, 0]],
        "columns": ("age", "stage"),
        "categorical": {"stage": (0, 1, 2)},
    }
    return Dataset(**fields | change)


BAD = [
    ({"time": [[1.0]]}, r"toy: time, event and x must have one row per subject; got time \(1, 1\), event"),
    ({"event": [1, 0, 1]}, r"one row per subject; got time \(4,\), event \(3,\), x \(4, 2\)"),
    ({"x": np.zeros((3, 2))}, r"one row per subject.*x \(3, 2\)"),
    ({"columns": ("age",)}, r"x has 2 columns and needs as many different names; got \('age',\)"),
    ({"columns": ("age", "age"), "categorical": {}}, r"as many different names"),
    ({"time": [1.0, 0.0, NAN, 4.0]}, r"2 times are missing, infinite or not positive; drop them or shift all times"),
    ({"event": [1, 0, 2, 0]}, r"event must be binary, 1 where observed and 0 where censored"),
    ({"x": [[np.inf, 0]] * 4}, r"x holds 4 infinite values; NaN alone marks a missing one"),
    ({"categorical": {"sex": (0, 1)}}, r"categorical column 'sex' is not among the columns \('age', 'stage'\)"),
    ({"categorical": {"stage": ()}}, r"levels of 'stage' must be different and at least one; got \(\)"),
    ({"categorical": {"stage": (0, 0, 1, 2)}}, r"levels of 'stage' must be different"),
    ({"categorical": {"stage": (0, 1)}}, r"column 'stage' holds \[2\.0\], not among its levels .*add the level"),
    ({"seq": np.zeros((4, 3)), "seq_columns": ("hr",)}, r"seq must have shape \(4, steps, 1\).*got \(4, 3\)"),
    ({"seq": np.zeros((4, 3, 2)), "seq_columns": ("hr",)}, r"one channel per name in seq_columns; got \(4, 3, 2\)"),
]


@pytest.mark.parametrize(("change", "text"), BAD)
def test_bad_tables_are_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        small(**change)


def test_a_saved_table_comes_back_the_same(tmp_path: Path) -> None:
    dataset = small(seq=np.full((4, 3, 1), NAN), seq_columns=("hr",), mark="synthetic", source="here")
    dataset.save(tmp_path / "deep" / "toy.npz")
    back = Dataset.load(tmp_path / "deep" / "toy.npz")
    assert back.sha256() == dataset.sha256()
    assert (back.mark, back.source, back.columns, back.seq_columns) == ("synthetic", "here", ("age", "stage"), ("hr",))
    assert dict(back.categorical) == {"stage": (0, 1, 2)}
    np.testing.assert_array_equal(back.x, dataset.x)
    np.testing.assert_array_equal(back.seq, dataset.seq)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["toy.npz"], "no temporary file is left"


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        small().save(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_hash_sees_content_and_not_the_source() -> None:
    same = {small().sha256(), small(source="elsewhere").sha256()}
    assert len(same) == 1
    changes = [
        {"time": [1.0, 2.0, 3.0, 4.5]},
        {"event": [1, 1, 1, 0]},
        {"x": [[0.5, 0], [1.5, 1], [NAN, 2], [2.5, 1]]},
        {"columns": ("years", "stage")},
        {"categorical": {"stage": (1, 0, 2)}},
        {"mark": "demo"},
    ]
    assert len({small(**change).sha256() for change in changes} | same) == len(changes) + 1


def test_broken_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "toy.npz"
    with pytest.raises(FileNotFoundError, match=r"no data set file .*toy\.npz; `python -m benchmarks run` makes it"):
        Dataset.load(path)
    small().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"toy\.npz is not a readable data set file .*delete it and run again"):
        Dataset.load(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(ValueError, match="not a readable data set file"):
        Dataset.load(path)
    np.savez(path, meta=np.array({"a": 1}, dtype=object))  # pickled content is never loaded
    with pytest.raises(ValueError, match="not a readable data set file"):
        Dataset.load(path)


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "toy.npz"
    small().save(path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["time"][0] = 9.0
    np.savez(path, **arrays)
    with pytest.raises(
        ValueError, match="does not match the sha256 it carries: it was changed; delete it and run again"
    ):
        Dataset.load(path)


def test_take_keeps_levels_that_a_part_lacks() -> None:
    part = small().take(np.array([3, 0]))
    assert part.time.tolist() == [4.0, 1.0]
    assert part.categorical["stage"] == (0, 1, 2)


def test_summary_by_hand() -> None:
    row = small(seq=np.zeros((4, 24, 2)), seq_columns=("hr", "sbp")).summary()
    assert (row["n"], row["p"], row["seq_channels"], row["seq_steps"], row["mark"]) == (4, 2, 2, 24, "")
    assert row["censoring_rate"] == 0.5
    assert (row["censored_mean"], row["observed_mean"], row["observed_median"]) == (3.0, 2.0, 2.0)
    assert np.isnan(small(event=[1, 1, 1, 1]).summary()["censored_median"])


# The paper's Table of datasets: N, p, censoring rate, mean and median of censored and of observed times.
PUBLISHED = {
    "support": (8873, 14, 0.32, 2.90, 2.51, 0.56, 0.16),
    "metabric": (1904, 9, 0.42, 0.44, 0.43, 0.27, 0.24),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_summary_equals_the_paper_to_its_last_digit(name: str, load_public: Callable[[str], Dataset]) -> None:
    row = load_public(name).summary()
    keys = ("n", "p", "censoring_rate", "censored_mean", "censored_median", "observed_mean", "observed_median")
    assert tuple(round(row[key], 2) for key in keys) == PUBLISHED[name]
