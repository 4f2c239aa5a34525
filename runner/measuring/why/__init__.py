"""Why a row is behind the best of its comparison: what takes the time, and which switch moves it.

Two sessions answer it. One profiles the rows and the best (spec.measures.PARTS); the other runs, by turns in one
comparison, the best, each row as it is, and each row with one of the switches that apply to it (spec.switches), the
likeliest first, as many as the time allows. A reason is said only where its switch moved the ratio.
"""
