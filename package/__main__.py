"""python -m evenbench, and the command evenbench: makes runner and workloads importable, and hands over to them."""

from evenbench import name_folders


def main() -> None:
    """Run the command line."""
    name_folders()
    from runner.cli import main as run

    run()


if __name__ == "__main__":
    main()
