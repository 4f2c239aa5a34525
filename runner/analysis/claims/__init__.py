"""What studies claim and print, against what was measured and against their papers' own numbers."""
