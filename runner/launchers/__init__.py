"""How a run is started, followed and stopped: one file a launcher, one protocol for all."""
