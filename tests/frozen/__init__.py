"""Frozen results of small runs: what a refactoring must not move."""
