"""The sequence models in JAX, a file each, and the blocks and LSTMs that they are made of."""
