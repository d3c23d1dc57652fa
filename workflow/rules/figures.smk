rule simulate:
    output:
        f"{RUN}/simulation/{{repetition}}.npz",
    log:
        f"{RUN}/logs/simulation/{{repetition}}.log",
    wildcard_constraints:
        repetition="[0-9]+",
    conda:
        "../../environment.yml"
    threads: study.threads
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        uses=uses("simulate", "{repetition}"),
        environment=environment,
        job=job("simulate", "{repetition}"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" {params.environment} "$SODEN_PYTHON" -m benchmarks {params.job:q} > {log:q} 2>&1'


rule figures:
    input:
        rules.gather.output,
        expand(
            f"{RUN}/simulation/{{repetition}}.npz",
            repetition=range(1, study.simulation.repetitions + 1),
        ),
        cells=rules.gather.output.cells,
    output:
        report(
            directory(FIGURES),
            patterns=["{figure}.png"],
            category="Figures",
            caption="../report/figures.rst",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{RUN}/logs/figures.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        run=lambda wildcards, input: str(Path(input.cells).parent),
        code=code.of_report("figures"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks report {params.run:q} figures > {log:q} 2>&1'
