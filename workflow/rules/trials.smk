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
    threads: config["threads"]
    resources:
        mem_mb=tuning_memory,
        runtime=lambda wildcards, attempt: attempt * config["resources"]["runtime"],
        gpu=config["resources"]["gpu"],
    params:
        pairs=lambda wildcards: ",".join(
            f"{s}:{t}"
            for s, t in chunk_names(wildcards.dataset, wildcards.model)[
                wildcards.chunk
            ].trials
        ),
        settings=trial_settings(),
        keep="--keep-failed" if config["keep_failed"] else "",
        environment=numeric_environment,
        code=lambda wildcards: code.of_model(
            wildcards.model, data.has_series(wildcards.dataset)
        ),
    shell:
        "{params.environment} python -m benchmarks tune --data {input.table:q} --splits {input.splits:q} "
        "--model {wildcards.model:q} --pairs {params.pairs:q} {params.settings:q} --threads {threads:q} "
        "{params.keep:q} --out {output:q} > {log:q} 2>&1"


rule evaluate:
    input:
        table=f"{RUN}/data/{{dataset}}.npz",
        splits=f"{RUN}/splits/{{dataset}}",
        trials=lambda wildcards: [
            f"{RUN}/trials/{wildcards.dataset}/{wildcards.model}/{chunk}.parquet"
            for chunk in chunk_names(wildcards.dataset, wildcards.model)
        ],
    output:
        scores=f"{RUN}/scores/{{dataset}}/{{model}}.parquet",
        curves=f"{RUN}/scores/{{dataset}}/{{model}}.json",
        chosen=f"{RUN}/chosen/{{dataset}}/{{model}}.json",
    log:
        f"{RUN}/logs/evaluate/{{dataset}}/{{model}}.log",
    conda:
        "../../environment.yml"
    threads: config["threads"]
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        settings=trial_settings(),
        environment=numeric_environment,
        code=code.of_metrics(),
    shell:
        "{params.environment} python -m benchmarks evaluate --data {input.table:q} --splits {input.splits:q} "
        "--model {wildcards.model:q} --trials {input.trials:q} {params.settings:q} --threads {threads:q} "
        "--out {output.scores:q} --chosen {output.chosen:q} > {log:q} 2>&1"


rule gather:
    input:
        expand(f"{RUN}/data/{{dataset}}.json", dataset=config["datasets"]),
        evaluated,
    output:
        scores=f"{RUN}/scores.csv",
        conventions=f"{RUN}/conventions.csv",
        tests=f"{RUN}/tests.csv",
        cells=f"{RUN}/cells.csv",
        datasets=f"{RUN}/datasets.csv",
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
        planned=lambda wildcards: json.dumps(planned()),
        convention=config["evaluation"]["convention"],
        run=lambda wildcards, output: str(Path(output.scores).parent),
    shell:
        "python -m benchmarks gather --run {params.run:q} --planned {params.planned:q} "
        "--convention {params.convention:q} > {log:q} 2>&1"
