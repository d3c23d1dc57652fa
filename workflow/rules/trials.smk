rule tune:
    input:
        table=f"{RUN}/data/{{dataset}}.npz",
        splits=f"{RUN}/splits/{{dataset}}",
    output:
        f"{RUN}/trials/{{dataset}}/{{model}}/{{chunk}}.parquet",
    log:
        f"{RUN}/logs/tune/{{dataset}}/{{model}}/{{chunk}}.log",
    priority: longest_first
    conda:
        "../../environment.yml"
    threads: study.threads
    resources:
        mem_mb=tuning_memory,
        runtime=tuning_minutes,
        gpu=gpus,
    params:
        uses=uses("tune", "{dataset}/{model}/{chunk}"),
        environment=environment,
        job=job("tune", "{dataset}/{model}/{chunk}"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" {params.environment} "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


rule evaluate:
    input:
        table=f"{RUN}/data/{{dataset}}.npz",
        splits=f"{RUN}/splits/{{dataset}}",
        trials=tables_of_trials,
    output:
        scores=f"{RUN}/scores/{{dataset}}/{{model}}.parquet",
        curves=f"{RUN}/scores/{{dataset}}/{{model}}.json",
        chosen=f"{RUN}/chosen/{{dataset}}/{{model}}.json",
    log:
        f"{RUN}/logs/evaluate/{{dataset}}/{{model}}.log",
    conda:
        "../../environment.yml"
    threads: study.threads
    resources:
        mem_mb=4000,
        runtime=120,
        gpu=gpus_to_refit,
    params:
        uses=uses("evaluate", "{dataset}/{model}"),
        environment=environment,
        job=job("evaluate", "{dataset}/{model}"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" {params.environment} "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


rule gather:
    input:
        expand(f"{RUN}/data/{{dataset}}.json", dataset=study.datasets),
        evaluated,
    output:
        scores=f"{RUN}/scores.csv",
        conventions=f"{RUN}/conventions.csv",
        tests=f"{RUN}/tests.csv",
        cells=f"{RUN}/cells.csv",
        datasets=f"{RUN}/datasets.csv",
        weights=f"{RUN}/weights.csv",
        trials=f"{RUN}/trials.parquet",
        planned=f"{RUN}/planned.csv",
        environment=f"{RUN}/environment.json",
    log:
        f"{RUN}/logs/gather.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        uses=uses("gather"),
        job=job("gather"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'
