"""evenbench as it is installed: one package, in which the repository's folders keep their names."""
