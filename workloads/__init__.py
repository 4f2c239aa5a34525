"""What runs inside a stack: Python 3.6 to 3.13, the standard library, numpy and the stack's framework."""
