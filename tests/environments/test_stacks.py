"""Today's stacks in virtual environments of their locks, which need no engine: their adapters against numpy's."""

import os
import subprocess

import pytest

from runner.measuring import job
from runner.stacks import definition, environments

STACKS = definition.read_all(job.STACKS)
TODAY = ("tf-2.21", "torch-2.13-cpu", "mxnet-1.9")
# all but the deep models, which take minutes: `evenbench check --all` is for them
CASES = ("Equality.test_every_layer", "Equality.test_a_globally_pooled_table", "Definition", "Weights", "Steps",
         "Epochs", "Optimizers")


def run_inside(name: str, *module_and_arguments: str) -> None:
    """Run a module of tests by the interpreter of the stack's environment, which is made first if it is not there."""
    python = environments.ready(STACKS[name], job.cache_folder(), lambda line: None)
    tests = subprocess.run([python, "-m", *module_and_arguments], cwd=job.ROOT, capture_output=True, text=True,
                           check=False, env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"})
    assert tests.returncode == 0, tests.stderr[-3000:]
    assert "\nOK" in tests.stderr


@pytest.mark.parametrize("name", TODAY)
def test_a_stack_agrees_with_the_reference_and_wrong_tables_are_caught(name: str) -> None:
    run_inside(name, "tests.stack.test_adapter", STACKS[name].framework, *CASES)


@pytest.mark.parametrize("name", TODAY)
def test_the_sequence_models_train_and_the_lstm_agrees_with_the_reference(name: str) -> None:
    run_inside(name, "tests.stack.test_sequences", STACKS[name].framework)
