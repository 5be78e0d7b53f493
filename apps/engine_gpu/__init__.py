"""Kernels for GPUs; they need the extra `gpu` (the Triton language)."""
