"""Reports of runs: reading a run folder, whatever state it is in, and writing its pages and figures."""

__all__: list[str] = []
