"""Benchmarks of speed on this machine, compared with the plain path."""

__all__: list[str] = []
