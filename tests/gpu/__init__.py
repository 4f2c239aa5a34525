"""The proof of the GPU path, `make prove-gpu`, which installs nothing and needs no network, engine or root."""
