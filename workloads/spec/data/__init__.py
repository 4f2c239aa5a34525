"""What the data sets hold, and the limits and forms that all readers of them share. Python 3.6 and later."""
