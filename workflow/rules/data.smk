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
        settings=json.dumps(prepare.settings_of(config)),
        options=lambda wildcards: json.dumps(mimic_options(wildcards.dataset)),
        out=lambda wildcards, output: str(Path(output.table).with_suffix("")),
        code=lambda wildcards: code.of_dataset(wildcards.dataset),
        again=lambda wildcards: again_if_missing(wildcards.dataset),
    shell:
        "python -m benchmarks data {wildcards.dataset:q} --settings {params.settings:q} "
        "--options {params.options:q} --out {params.out:q} > {log:q} 2>&1"


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
        source=config["split_source"],
        n=lambda wildcards: plan.n_splits(config, wildcards.dataset),
        seed=config["seed"],
    shell:
        "python -m benchmarks split --data {input:q} --source {params.source:q} --n {params.n:q} "
        "--seed {params.seed:q} --out {output:q} > {log:q} 2>&1"
