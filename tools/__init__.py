"""What only who works on evenbench runs: what it costs, and whether its images can be made again. Not in the wheel."""
