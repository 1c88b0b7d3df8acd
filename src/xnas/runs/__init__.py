"""What a whole job is: settings in, a folder of results out. One module a job, imported by name."""

__all__: list[str] = []
