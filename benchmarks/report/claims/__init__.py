"""The paper's statements in words, each with its rule."""
