# What the rules need to know: which data sets there are, which trials make which job, what a job depends on.
MIMIC = f"{RUN}/mimic3"
MIMIC_EVENTS = [name.lower() for name in events.TABLES]


def uses(step, key=""):
    """What a job depends on besides its inputs, as a function of its wildcards: when a value changes it is run again."""
    return lambda wildcards: plan.uses(study, step, key.format_map(wildcards))


def job(step, key=""):
    """The command of a job. It refuses to work if config.json or the code have changed since this was written."""

    def command(wildcards):
        name = key.format_map(wildcards)
        words = ["step", step, RUN, *([name] if name else [])]
        return [*words, "--expect", plan.digest(study, step, name)]

    return command


def environment(wildcards, threads):
    """Numerics and threads, as variables in front of a command: libraries read them when they are loaded."""
    counts = " ".join(f"{name}={threads}" for name in numerics.THREADS)
    return f"{numerics.VARIABLE}={study.numerics} {counts}"


def mimic_written(wildcards=None):
    """What must be written before the raw tables can be read: nothing, unless they are invented."""
    raw = f"{MIMIC}/raw"
    return (
        f"{raw}/SYNTHETIC.txt" if str(plan.raw_tables(study, Path(RUN))) == raw else []
    )


def mimic_built(dataset):
    """The files a data set is read from; none where there are no raw tables, which its loader then reports."""
    if dataset not in plan.MIMIC or plan.raw_tables(study, Path(RUN)) is None:
        return []
    names = ("mimic.parquet", "mimic_seq.parquet", "build.json")
    return [f"{MIMIC}/{name}" for name in names]


def had(dataset):
    """Whether a data set can be had; asking makes Snakemake look for it first."""
    status = checkpoints.dataset.get(dataset=dataset).output.status
    return json.loads(Path(status).read_text())["available"]


def available():
    """The data sets this run has, each missing one replaced by its stand-in if that can be had."""
    pairs = ([name, study.fallback.get(name)] for name in study.datasets)
    found = (next((d for d in pair if d and had(d)), None) for pair in pairs)
    return list(dict.fromkeys(filter(None, found)))


def again_if_missing(dataset):
    """A data set that could not be had is looked for again: something that changes with every run, else nothing."""
    status = Path(f"{RUN}/data/{dataset}.json")
    if not status.is_file() or json.loads(status.read_text())["available"]:
        return ""
    return STARTED


def tables_of_trials(wildcards):
    """The files of all chunks of one model on one data set."""
    chunks = plan.chunks(study, wildcards.dataset, wildcards.model)
    return [f"{RUN}/trials/{c.dataset}/{c.model}/{c.name}.parquet" for c in chunks]


def longest_first(wildcards):
    """Expected seconds of a tuning job as its priority: what is long starts early, so that no core waits at the end."""
    return round(cost.of_chunk(study, plan.chunk_of(study, *wildcards)))


def tuning_memory(wildcards, attempt):
    """Of the model's widest network, where that was measured; more after a kill near it, or twice without a reason."""
    asked = cost.job_mb(study, wildcards.dataset, wildcards.model)
    out_of_time = tuning_minutes(wildcards) > study.resources.runtime
    used = killed(wildcards).get("peak_mb", 0)
    return lease.next_ask(asked, used, 1 if out_of_time else attempt)


def tuning_minutes(wildcards):
    """As configured; more after a kill near it. A minute is for what a job does before and after its last note."""
    left = killed(wildcards)
    used = 1 + left["seconds"] / 60 if left else 0
    return lease.next_ask(study.resources.runtime, used)


def killed(wildcards):
    """What an attempt of a tuning job that was killed had used."""
    return lease.left_behind(
        Path(RUN, "trials", *wildcards[:2], f"{wildcards.chunk}.lease")
    )


def gpus(wildcards):
    """GPUs of a tuning job: one where networks are trained on it, so that `--resources gpu=2` lets two jobs have one."""
    return study.resources.gpu or int(plan.device_of(study, wildcards.dataset) != "cpu")


def gpus_to_refit(wildcards):
    """Scoring needs no GPU, unless trials were taken over from another run, whose chosen models are fitted again."""
    return gpus(wildcards) if study.known else 0


def evaluated(wildcards=None):
    """Every file the evaluation of this run writes."""
    names = ("scores/{}/{}.parquet", "scores/{}/{}.json", "chosen/{}/{}.json")
    models = [(d, m) for d in available() for m in plan.models_for(study, d)]
    return [f"{RUN}/{name.format(*pair)}" for pair in models for name in names]
