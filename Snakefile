"""The door to workflow/Snakefile: `snakemake --cores 8` from the folder of the clone."""


include: "workflow/Snakefile"


rule complete:
    default_target: True
    input:
        rules.all.input,
