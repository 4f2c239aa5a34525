"""The sequence models in MXNet, a file each, and the blocks and LSTMs that they are made of."""
