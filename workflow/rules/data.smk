# A checkpoint, because what can be had decides what is run: a data set that no source has is left out, and said so.
checkpoint dataset:
    input:
        built=lambda wildcards: mimic_built(wildcards.dataset),
    output:
        table=f"{RUN}/data/{{dataset}}.npz",
        status=f"{RUN}/data/{{dataset}}.json",
    log:
        f"{RUN}/logs/data/{{dataset}}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        uses=uses("data", "{dataset}"),
        again=lambda wildcards: again_if_missing(wildcards.dataset),
        job=job("data", "{dataset}"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


rule splits:
    input:
        f"{RUN}/data/{{dataset}}.npz",
    output:
        directory(f"{RUN}/splits/{{dataset}}"),
    log:
        f"{RUN}/logs/splits/{{dataset}}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        uses=uses("splits", "{dataset}"),
        job=job("splits", "{dataset}"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'
