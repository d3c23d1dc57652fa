# From the raw MIMIC-III tables to the files both data sets are read from, one job per stage and event table.
# Everything below {MIMIC}/ made from the real tables is credentialed data; results/ is ignored by git.
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
        out=lambda wildcards, output: str(Path(output[0]).parent),
        code=code.of_mimic(),
    shell:
        "python -m benchmarks mimic synthesise --patients {params.patients:q} --seed {params.seed:q} "
        "--out {params.out:q} > {log:q} 2>&1"


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
        out=lambda wildcards, output: str(Path(output.cohort).parent),
        code=code.of_mimic(),
    shell:
        "python -m benchmarks mimic cohort --raw {params.raw:q} --out {params.out:q} "
        "--options {params.options:q} > {log:q} 2>&1"


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
        out=lambda wildcards, output: str(Path(output[0]).parents[1]),
        code=code.of_mimic(),
    shell:
        "python -m benchmarks mimic events --table {wildcards.table:q} --raw {params.raw:q} --out {params.out:q} "
        "--options {params.options:q} > {log:q} 2>&1"


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
        out=lambda wildcards, output: str(Path(output.mimic).parent),
        code=code.of_mimic(),
    shell:
        "python -m benchmarks mimic features --out {params.out:q} --options {params.options:q} > {log:q} 2>&1"
