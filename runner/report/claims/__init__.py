"""How a session is told beside its study: the words of claims, and published numbers."""
