"""What profilers recorded, in numbers that all frameworks share. Python 3.6 and later, standard library only."""
