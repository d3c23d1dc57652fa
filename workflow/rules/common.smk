# What the rules need to know: where things are, which data sets there are, which trials make which job.
MIMIC = f"{RUN}/mimic3"
MIMIC_EVENTS = [name.lower() for name in events.TABLES]


def mimic_raw():
    """Folder of the raw tables: the config's, invented ones if asked for, $MIMIC_III; empty if there is none."""
    section = config["data"]["mimic"]
    if section["raw"]:
        return section["raw"]
    if section["synthetic_patients"]:
        return f"{MIMIC}/raw"
    return os.environ.get("MIMIC_III", "")


def mimic_written(wildcards=None):
    """What must be written before the raw tables can be read: nothing, unless they are invented."""
    return f"{MIMIC}/raw/SYNTHETIC.txt" if mimic_raw() == f"{MIMIC}/raw" else []


def mimic_built(dataset):
    """The files a data set is read from; none where there are no raw tables, which its loader then reports."""
    if dataset not in ("mimic", "mimic_seq") or not mimic_raw():
        return []
    return [
        f"{MIMIC}/{name}"
        for name in ("mimic.parquet", "mimic_seq.parquet", "build.json")
    ]


def mimic_options(dataset):
    """What the loader of a data set is told: where the built files are."""
    return {"built": MIMIC} if mimic_built(dataset) else {}


def mimic_choices(*names):
    """The cohort choices a stage uses, as JSON; without names, all."""
    chosen = config["data"]["mimic"]["options"]
    return json.dumps({key: chosen[key] for key in chosen if not names or key in names})


def available(wildcards=None):
    """The data sets this run has, each missing one replaced by its stand-in if that can be had."""
    found = []
    for name in config["datasets"]:
        for candidate in (name, config["fallback"].get(name)):
            if candidate:
                status = checkpoints.dataset.get(dataset=candidate).output.status
                if json.loads(Path(status).read_text())["available"]:
                    found.append(candidate)
                    break
    return list(dict.fromkeys(found))


def planned(wildcards=None):
    """(data set, model, number of splits, number of chunks) of everything this run does."""
    return [
        (d, m, plan.n_splits(config, d), len(plan.chunks(config, d, m)))
        for d in available()
        for m in plan.models_for(config, d)
    ]


def trial_settings():
    """What every trial of the run depends on, as options of the verbs that fit models; `:q` quotes each word."""
    known = ["--known", config["known"]] if config["known"] else []
    others = ["--any-numerics"] if config["known_numerics"] == "any" else []
    return [
        *("--seed", config["seed"], "--training", json.dumps(config["training"])),
        *("--rounding", config["width_rounding"], "--device", config["device"]),
        *known,
        *others,
    ]


def numeric_environment(wildcards, threads):
    """Numerics and threads, as variables in front of a command: libraries read them when they are loaded."""
    counts = " ".join(f"{name}={threads}" for name in numerics.THREADS)
    return f"{numerics.VARIABLE}={config['numerics']} {counts}"


def again_if_missing(dataset):
    """A data set that could not be had is looked for again: something that changes with every run, else nothing."""
    status = Path(f"{RUN}/data/{dataset}.json")
    if not status.is_file() or json.loads(status.read_text())["available"]:
        return ""
    return STARTED


def chunk_names(dataset, model):
    return {f"{c.index:04d}": c for c in plan.chunks(config, dataset, model)}


EXPECTED = cost.expected_seconds(config)


def longest_first(wildcards):
    """Expected seconds of a tuning job as its priority: what is long starts early, so that no core waits at the end."""
    seconds = EXPECTED[wildcards.dataset, wildcards.model]
    trials = chunk_names(wildcards.dataset, wildcards.model)[wildcards.chunk].trials
    return 0 if math.isnan(seconds) else round(seconds * len(trials))


def tuning_memory(wildcards, attempt):
    """Of the largest configuration the job will draw, where that was measured; more after each kill."""
    trials = chunk_names(wildcards.dataset, wildcards.model)[wildcards.chunk].trials
    return attempt * cost.job_mb(config, wildcards.dataset, wildcards.model, trials)


def evaluated(wildcards=None):
    """Every file the evaluation of this run writes."""
    return [
        f"{RUN}/{name}"
        for d, m, *_ in planned()
        for name in (
            f"scores/{d}/{m}.parquet",
            f"scores/{d}/{m}.json",
            f"chosen/{d}/{m}.json",
        )
    ]
