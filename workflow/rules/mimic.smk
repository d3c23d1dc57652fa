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
        uses=uses("mimic", "synthesise"),
        job=job("mimic", "synthesise"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


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
        uses=uses("mimic", "cohort"),
        job=job("mimic", "cohort"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


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
        uses=uses("mimic", "events/{table}"),
        job=job("mimic", "events/{table}"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


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
        uses=uses("mimic", "features"),
        job=job("mimic", "features"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'
