"""Runs on the nodes of a Docker Swarm."""
