rule tables:
    input:
        scores=f"{RUN}/scores.csv",
        trials=f"{RUN}/trials.parquet",
        datasets=f"{RUN}/datasets.csv",
        planned=f"{RUN}/planned.csv",
    output:
        directory(f"{RUN}/tables"),
    log:
        f"{RUN}/logs/tables.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=10,
    shell:
        "python -m benchmarks tables --scores {input.scores} --trials {input.trials} --datasets {input.datasets} "
        "--planned {input.planned} "
        "--out {output} > {log} 2>&1"
