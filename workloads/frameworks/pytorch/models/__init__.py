"""The sequence models in PyTorch, a file each, and the blocks and LSTMs that they are made of."""
