"""What the samples say: statistics, flags, claims judged, sessions compared, the summary."""
