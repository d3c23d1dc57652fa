"""What was measured once to write a number down; README.md says what each script measured and where its result is."""
