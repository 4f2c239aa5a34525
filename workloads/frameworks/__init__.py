"""One adapter a framework: the same functions in the same order."""
