"""Data sets: which there are, how they are fetched, checked, prepared and chosen."""
