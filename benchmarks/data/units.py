"""Units that several data sets share."""

SHIFT = 0.001  # years that the authors' code adds to all times, since METABRIC has a subject with time 0
