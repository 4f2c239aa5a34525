"""The forms of a report, one module each, and the drawings of the page."""
