"""A study as data: its file, cells, published numbers and claims."""
