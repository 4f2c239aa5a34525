"""Runs cells as jobs of a Slurm cluster."""
