"""python -m evenbench: the command line."""

from evenbench import main

if __name__ == "__main__":
    main()
