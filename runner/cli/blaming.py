"""The command that says which package made a file of the user's slower: blame."""

import sys
from typing import Annotated

import typer

from runner.application import blame
from runner.cli import options
from runner.cli.options import Folders
from runner.cli.output import Output
from runner.cli.request import Own, Settled
from runner.errors import InputError
from runner.measuring import own_models
from runner.measuring.bench import Going
from runner.planning.plan import Wishes
from runner.report import blaming

app = options.Commands()


@app.command("blame")
def blame_(old: Annotated[str, typer.Argument(metavar="OLD", help="An environment's PATH, requirements.txt, "
                                              "pylock.toml, uv.lock, or git:REV of this directory.")],
           new: Annotated[str, typer.Argument(metavar="NEW", help="The same, of what may have become slower.")],
           model: Annotated[str, typer.Option("--model", metavar="MODEL.py", help="The file that both run.",
                                              show_default=False)] = ...,  # type: ignore[assignment]
           rounds: Annotated[int, typer.Option(min=5, max=1000, help="Rounds of a measurement at most.")] = 20,
           python: Annotated[str, typer.Option(help="The Python that environments of lock files are made of.")
                             ] = sys.executable,
           is_kept: Annotated[bool, typer.Option("--keep", help="Leave the environments that it makes.")] = False,
           *, own: Own, settled: Settled, going: Going, folders: Folders, output: Output) -> None:
    """Which package, and which release of it, made your file slower? By mixes of two environments."""
    if not own_models.is_file(model):
        raise InputError(f"--model {model}: expected a Python file, MODEL.py: `evenbench init torch` writes one")
    request = own.of(settled.request(model, Wishes(rounds=rounds)))._replace(
        places=folders.places, with_products=False, going=going)
    answer, code = blame.blamed(request, (old, new), python, is_kept)
    output.rows(blaming.rows(answer), blaming.parts(answer), blaming.record(answer))
    sys.exit(code)
