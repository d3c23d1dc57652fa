rule simulate:
    output:
        f"{RUN}/simulation/{{repetition}}.npz",
    log:
        f"{RUN}/logs/simulation/{{repetition}}.log",
    wildcard_constraints:
        repetition="[0-9]+",
    conda:
        "../../environment.yml"
    threads: config["threads"]
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        n=config["simulation"]["n"],
        max_epochs=config["simulation"]["max_epochs"],
        seed=config["seed"],
        environment=numeric_environment,
        code=code.of_simulation(),
    shell:
        "{params.environment} python -m benchmarks simulate --repetition {wildcards.repetition:q} --n {params.n:q} --seed {params.seed:q} "
        "--max-epochs {params.max_epochs:q} --threads {threads:q} --out {output:q} > {log:q} 2>&1"


rule figures:
    input:
        rules.gather.output,
        expand(
            f"{RUN}/simulation/{{repetition}}.npz",
            repetition=range(1, config["simulation"]["repetitions"] + 1),
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
    shell:
        "python -m benchmarks figures --run {params.run:q} --out {output:q} > {log:q} 2>&1"
