"""The study: search, selection, evaluation, and the statistics that turn scores into table cells."""
