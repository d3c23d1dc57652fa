"""What a run left behind and what follows from it: the reader of run folders, tidy scores, statistics, names."""
