"""The nodes of a run: who is where, and what runs beside a worker."""
