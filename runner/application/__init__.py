"""What commands and notebooks do: measure a job, read a result, explain it."""
