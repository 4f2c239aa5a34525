"""Processes beside a worker that need not its whole adapter: servers, schedulers, stores of keys."""
