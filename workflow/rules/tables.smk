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
        code=code.of_report("tables"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks report {params.run:q} tables > {log:q} 2>&1'
