"""Triton kernels, each with a plain PyTorch version that is used wherever there is no GPU.

`language.compiles_for` decides between the two; a test holds every pair equal.
"""

__all__: list[str] = []
