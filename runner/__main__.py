"""python -m runner: the command line."""

from runner.cli import main

if __name__ == "__main__":
    main()
