"""The arena: data, splits, metrics, search, tests, tables, figures; `speed` times us against peers."""
