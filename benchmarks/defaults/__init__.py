"""Where the library's defaults come from: settings chosen on some data sets and splits, confirmed on others."""
