"""Runs cells as jobs of a Slurm cluster, by its own commands.

Why not submitit (1.5.4) or dask-jobqueue (0.9.0), read 2026-11-27: what both start on a node is the library itself,
which unpickles a function; a stack's Python may be 3.6, and holds nothing but its lock. Both know of a job only what
sacct or squeue say of it: not that a node fell silent, nor why a job waits. Neither waits for a cancelled job to leave
its nodes, asks for the same nodes again, or takes over a job of a session that is gone. submitit would write the file
for sbatch (25 lines here) and nothing else.
"""
