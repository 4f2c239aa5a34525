"""The sequence models in TensorFlow, a file each, and the blocks and LSTMs that they are made of."""
