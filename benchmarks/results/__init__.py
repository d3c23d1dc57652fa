"""What a run left behind and what follows from it: the reader of run folders, tidy scores, statistics, names."""

KEPT_RUNS = ("reference", "beyond")  # our own runs, kept in the repository
KEPT = ("published", *KEPT_RUNS, "replications")  # folders of results/ that belong to the project
