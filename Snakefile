"""From raw data to tables, figures and report; rules are in workflow/rules/, what they call in `python -m benchmarks`.

snakemake --cores 2                        the quick tier: everything, tiny
snakemake --cores 8 --config tier=small    SUPPORT and METABRIC, 10 trials per split
snakemake --cores 8 --config tier=beyond   six more models, four more data sets
snakemake --cores 8 --config tier=paper    the full protocol
"""

import json
import math
import os
import shlex
import shutil
import sys
from datetime import datetime
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")
sys.path.insert(0, workflow.basedir)
# `python -m benchmarks` is found from whatever --directory jobs run in. As a prefix of every command, not in os.environ:
# under --use-conda Snakemake takes PYTHONPATH away.
CLONE = shlex.quote(str(workflow.basedir)).replace("{", "{{").replace("}", "}}")
shell.prefix(f"set -euo pipefail; export PYTHONPATH={CLONE}; ")
# Rules call `python`: that of the conda environment under --use-conda, else the one that runs Snakemake.
if "conda" not in map(str, workflow.deployment_settings.deployment_method):
    os.environ.update(
        PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
    )
elif not shutil.which("conda"):
    raise WorkflowError(
        "--use-conda needs conda, and there is none on the PATH: leave --use-conda out and run .venv/bin/snakemake, "
        "whose environment `make setup` builds from the same pins"
    )

if workflow.resource_settings.cores == 0:  # Snakemake would wait for a core for ever
    raise WorkflowError("--cores: got 0; wanted at least 1, or `all`")

from benchmarks import code, data, numerics
from benchmarks.data.mimic3 import events
from benchmarks.study import cost, plan, prepare
from benchmarks.study.config import ConfigError, read, resolve, tiers, with_tier

try:
    for file in workflow.overwrite_configfiles:
        with_tier(read(file), workflow.config_settings.config.get("tier"))
    config = resolve(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None
# Every output lies in one of these two: `resolve` lets no name of a run lead out of them.
RUN = f"results/{config['run']}"
FIGURES = f"figures/{config['run']}"
STARTED = datetime.now().isoformat()


report: "workflow/report/workflow.rst"


onstart:
    Path(RUN).mkdir(parents=True, exist_ok=True)
    Path(RUN, "config.json").write_text(
        json.dumps(config, indent=1, sort_keys=True)
    )
    # Kept, so that the report compares with what was expected before the run.
    shutil.copy(cost.MEASURED, RUN)
    print(
        f"Tier {config['tier']}, results in {RUN}/. Other tiers: --config tier={'|'.join(tiers())}; "
        "`python -m benchmarks plan` says what they cost, `python -m benchmarks status` how far a run is."
    )


wildcard_constraints:
    dataset="[a-z0-9_]+",
    model="[a-z0-9_]+",
    chunk="[0-9]+",


include: "workflow/rules/common.smk"
include: "workflow/rules/mimic.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/trials.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


localrules:
    all,
    scores,
    cohorts,


# Targets stay in this file: a default target in an included file would not be one. All results are named, not only
# the last ones, so that one that was lost is made again.
rule all:
    default_target: True
    input:
        evaluated,
        rules.gather.output,
        rules.tables.output,
        rules.figures.output,
        rules.report.output,


rule scores:
    input:
        evaluated,
        rules.gather.output,


rule cohorts:
    input:
        mimic_built("mimic"),
