"""Launchers of machines that many share: as jobs of Slurm, on a Docker Swarm's nodes, and by Apptainer without root.

runner's table of launchers is the one place that names them.
"""
