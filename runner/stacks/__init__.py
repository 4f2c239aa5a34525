"""Pinned software stacks: their definition, images, environments and locks."""
