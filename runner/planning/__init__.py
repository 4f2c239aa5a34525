"""From a study and the stacks here to the cells that will run, and which of them have been measured."""
