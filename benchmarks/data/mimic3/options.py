"""Every choice the paper and its sources leave open, with the recommended answer as the default."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from benchmarks.config_checks import ConfigError, problems, schema_of
from benchmarks.data.settings import key


@dataclass(frozen=True)
class MimicOptions:
    """How MIMIC and MIMIC-SEQ are built; the defaults follow the notebooks the authors say they ran.

    What each other value changes, on the open demo and on invented tables: benchmarks/report/deviations_mimic.csv.
    """

    seq_features: Literal["raw15", "processed12"] = key(
        # 15 is the paper's number; the notebook that its README names gives 12. The original's own notebook of 15 keeps
        # errors and counts from ADMITTIME: on the demo between 38 % (FiO2) and 93 % (GCS) of its cells equal these.
        "raw15",
        "the paper's 15 series, made by the rules of the notebook of 12, so that they equal no single source; or "
        "that notebook's 12, PaO2 and FiO2 merged into a ratio",
    )
    admission_type: Literal["ordinal", "onehot"] = key(
        # One column gives the paper's p = 26; two dummies, which its text also promises, give 27.
        "ordinal",
        "one column 0, 1, 2, or two dummies",
    )
    age_over_89: Literal["keep", "91.4"] = key(
        # No source corrects it; 91.4 is the documented median age of these patients.
        "keep",
        "stored as about 300 years; keep that, or take the documented median",
    )
    impute_window: Literal["full", "first24"] = key(
        "full", "hours that a missing value may be filled from; full looks ahead, as the notebook does"
    )
    # Hour 0: the first record, as in the notebook. It may be 6 h before INTIME, but also hours after it: then hour 23
    # ends after INTIME + 24 h. "intime24" takes no value from after that moment (the last hour is repeated).
    seq_start: Literal["first_record", "intime"] = key("first_record", "hour 0 of the series")
    seq_end: Literal["hour24", "intime24"] = key(
        "hour24", "hour 23 of the series, or nothing from later than 24 hours after INTIME"
    )
    # The population is defined at the ICU, and the notebook's labels count from there.
    origin: Literal["intime", "admittime"] = key("intime", "time zero of the outcome")
    # The notebook's "adult"; years of 365.25 days.
    min_age: float = key(15.0, "years at ADMITTIME from which a patient is an adult", minimum=0, maximum=120)
    # The notebook loses admissions with an ICU stay without GCS or laboratory rows, by an error nobody sees
    # (sql/lost.sql). An accident is no rule of the paper, so they stay; "drop" shows how near it comes to its count.
    lost_admissions: Literal["keep", "drop"] = key("keep", "admissions that the notebook loses by an error nobody sees")
    # The notebook's 35,637 needs it.
    span_rule: bool = key(True, "keep only series that span more than 24 hours")
    # DEATHTIME is never before INTIME; "dod" alone is a day.
    death_time: Literal["deathtime", "dod"] = key("deathtime", "to the minute, or midnight of the day of death")
    # By DEATHTIME alone, as the notebook's own 24-hour label, or by the time of the outcome, which also cuts those of
    # whom only the day of death is known.
    alive_by: Literal["deathtime", "death"] = key(
        "deathtime", "who lived for 24 hours: by DEATHTIME alone, as in the original code, or by any date of death"
    )
    days_per_year: float = key(365.25, "of the times in years; no source says", minimum=365, maximum=366)
    # Never an analysis: all demo patients die, so those without DOD_HOSP are taken as censored.
    censor_without_dod_hosp: bool = key(False, "for tests on the open demo, where all patients die")
    row_counts: Literal["error", "warn"] = key("error", "where the raw tables have not the rows of v1.4")
    # The reader needs about 0.3 GB besides.
    memory_gb: float = key(1.0, "what DuckDB may hold", minimum=0.1, maximum=10_000)
    threads: int = key(2, "of DuckDB", minimum=1, maximum=1024)
    progress: bool = key(False, "print how far a pass over a table is")

    def __post_init__(self) -> None:
        _check(asdict(self))
        if self.threads > (most := max(16, os.cpu_count() or 1)):  # a system may not survive thousands
            raise ConfigError(f"threads: got {self.threads}; wanted a whole number from 1 to {most}")

    @classmethod
    def of(cls, chosen: Mapping[str, Any]) -> Self:
        """From the config or the command line; a name that does not exist is an error."""
        _check(chosen)
        return cls(**chosen)

    def choices(self) -> dict[str, Any]:
        """The options that change the result (the others only change how fast it comes)."""
        engine = {"row_counts", "memory_gb", "threads", "progress"}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in engine}


def _check(chosen: Mapping[str, Any]) -> None:
    if wrong := list(problems("", chosen, schema_of(MimicOptions))):
        raise ConfigError("; ".join(wrong))
