"""The command line, as `python -m facevalue`."""

from facevalue.cli import main

if __name__ == "__main__":  # processes that help import this again
    main()
