rule report:
    input:
        rules.gather.output,
        figures=rules.figures.output,
    output:
        page=report(
            f"{RUN}/report.html",
            category="Report",
            caption="../report/report.rst",
        ),
        agreement=report(
            f"{RUN}/agreement.csv",
            category="Tables",
            caption="../report/agreement.rst",
        ),
        claims=report(
            f"{RUN}/claims.csv",
            category="Tables",
            caption="../report/claims.rst",
        ),
        rankings=f"{RUN}/rankings.csv",
    log:
        f"{RUN}/logs/report.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        run=lambda wildcards, output: str(Path(output.page).parent),
        code=code.of_report("page"),
    shell:
        'PYTHONPATH="$SODEN_CLONE" "$SODEN_PYTHON" -m benchmarks report {params.run:q} page > {log:q} 2>&1'
