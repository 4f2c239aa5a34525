"""The command line. Exit codes: 0 done, 1 a run did not end well, 2 the input is wrong, 130 interrupted."""

import gc
import sys

from runner import screen
from runner.cli import measuring, preparing, proving, results
from runner.cli.options import app
from runner.errors import BenchError
from runner.session import Stopped

_NEW_OBJECTS = 100_000         # until the collector looks for cycles, which the records of results, all kept, have not
_ORDER = [module.__name__ for module in (measuring, results, proving, preparing)]      # in which --help lists them
app.registered_commands.sort(key=lambda command: _ORDER.index(str(getattr(command.callback, "__module__", ""))))


def main() -> None:
    """Run the command; what the user can mend is one line on standard error and exit code 2."""
    gc.set_threshold(_NEW_OBJECTS)
    try:
        app(standalone_mode=True)
    except BenchError as error:
        screen.say(f"evenbench: {error}")
        sys.exit(2)
    except Stopped:
        sys.exit(130)
    finally:
        gc.freeze()            # else Python looks for cycles in all it holds before it ends: 0.1 to 0.2 s
