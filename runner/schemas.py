"""The number of each form of JSON that a command writes, its key "schema". Another form gets another number.

docs/commands.md lists them. Lines of events.jsonl have one of their own, SCHEMA of runner.results.store.
"""

SUMMARY = 9              # of report, and summary.json
COMPARISON = 2           # of compare and history
GATE = 2                 # and gate.json
REASONS = 2              # of why, and why.json
PLAN = 1
BLAME = 1                # of what a blame found
JOURNAL = 3              # of blame.json, which has that below "answer"
CROSSING = 1             # of run --sweep, and crossing.json
ROWS = 1                 # of commands that list: the rows below the key "rows"
