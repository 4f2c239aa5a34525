"""What goes into each sequence model: samples, batches, padding; numpy only."""
