"""The proof: `python -m tests.gpu` shows, on the GPU that is here, that what evenbench measures there is true.

One command, at most 8 minutes an environment on one GPU, no network, no engine, no root: nothing but Pythons that have
a framework with CUDA. Only the standard library and numpy must be there; what needs a framework runs in a fresh process
of the environment under proof (tests/gpu/inside/, or `python -m workloads`). docs/gpu-proof.md says how to read it.
"""
