# From the raw MIMIC-III tables to the files both data sets are read from, one job per stage and event table.
# Everything below {MIMIC}/ made from the real tables is credentialed data; results/ is ignored by git.
MIMIC = f"{RUN}/mimic3"
MIMIC_EVENTS = (
    "services",
    "diagnoses_icd",
    "procedureevents_mv",
    "outputevents",
    "labevents",
    "chartevents",
)


def mimic_raw():
    """Folder of the raw tables: the config's, invented ones if asked for, $MIMIC_III; empty if there is none."""
    section = config["data"]["mimic"]
    if section["raw"]:
        return section["raw"]
    if section["synthetic_patients"]:
        return f"{MIMIC}/raw"
    return os.environ.get("MIMIC_III", "")


def mimic_written(wildcards=None):
    """What must be written before the raw tables can be read: nothing, unless they are invented."""
    return f"{MIMIC}/raw/SYNTHETIC.txt" if mimic_raw() == f"{MIMIC}/raw" else []


def mimic_built(dataset):
    """The files a data set is read from; none where there are no raw tables, which its loader then reports."""
    if dataset not in ("mimic", "mimic_seq") or not mimic_raw():
        return []
    return [
        f"{MIMIC}/{name}"
        for name in ("mimic.parquet", "mimic_seq.parquet", "build.json")
    ]


def mimic_options(dataset):
    """What the loader of a data set is told: where the built files are."""
    return {"built": MIMIC} if mimic_built(dataset) else {}


def mimic_choices(*names):
    """The cohort choices a stage uses, as JSON; without names, all."""
    chosen = config["data"]["mimic"]["options"]
    return json.dumps({key: chosen[key] for key in chosen if not names or key in names})


rule mimic_synthesise:
    output:
        f"{MIMIC}/raw/SYNTHETIC.txt",
    log:
        f"{RUN}/logs/mimic/synthesise.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        patients=config["data"]["mimic"]["synthetic_patients"],
        seed=config["seed"],
        out=f"{MIMIC}/raw",
    shell:
        "python -m benchmarks mimic synthesise --patients {params.patients} --seed {params.seed} "
        "--out {params.out} > {log} 2>&1"


rule mimic_cohort:
    input:
        mimic_written,
    output:
        cohort=f"{MIMIC}/cohort.parquet",
        stays=f"{MIMIC}/icustays.parquet",
        counts=f"{MIMIC}/cohort.json",
    log:
        f"{RUN}/logs/mimic/cohort.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        raw=mimic_raw(),
        options=mimic_choices(
            "min_age", "death_time", "row_counts", "censor_without_dod_hosp"
        ),
        out=MIMIC,
    shell:
        "python -m benchmarks mimic cohort --raw '{params.raw}' --out {params.out} "
        "--options '{params.options}' > {log} 2>&1"


rule mimic_events:
    input:
        rules.mimic_cohort.output,
    output:
        f"{MIMIC}/events/{{table}}.parquet",
    log:
        f"{RUN}/logs/mimic/events_{{table}}.log",
    wildcard_constraints:
        table="|".join(MIMIC_EVENTS),
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        raw=mimic_raw(),
        options=mimic_choices("row_counts"),
        out=MIMIC,
    shell:
        "python -m benchmarks mimic events --table {wildcards.table} --raw '{params.raw}' --out {params.out} "
        "--options '{params.options}' > {log} 2>&1"


rule mimic_features:
    input:
        rules.mimic_cohort.output,
        expand(f"{MIMIC}/events/{{table}}.parquet", table=MIMIC_EVENTS),
    output:
        stays=f"{MIMIC}/stays.parquet",
        mimic=f"{MIMIC}/mimic.parquet",
        mimic_seq=f"{MIMIC}/mimic_seq.parquet",
        flow=f"{MIMIC}/flow.csv",
        checks=f"{MIMIC}/checks.csv",
        about=f"{MIMIC}/build.json",
    log:
        f"{RUN}/logs/mimic/features.log",
    conda:
        "../../environment.yml"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        options=mimic_choices(),
        out=MIMIC,
    shell:
        "python -m benchmarks mimic features --out {params.out} --options '{params.options}' > {log} 2>&1"
