"""What is done with a task, and the clock around its steps. No framework is imported here."""
