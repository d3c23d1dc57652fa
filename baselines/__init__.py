"""The competitors: one file each, the same contract as SODEN."""
