rule tables:
    input:
        rules.gather.output,
        cells=rules.gather.output.cells,
    output:
        directory(f"{RUN}/tables"),
    log:
        f"{RUN}/logs/tables.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        run=lambda wildcards, input: str(Path(input.cells).parent),
    shell:
        "python -m benchmarks tables --run {params.run:q} --out {output:q} > {log:q} 2>&1"
