"""Triton kernels, each with a plain PyTorch twin that computes wherever there is no GPU.

`language.compiles_for` decides between the two; a test holds every pair equal.
"""

__all__: list[str] = []
