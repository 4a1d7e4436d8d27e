"""The command line, as `python -m facevalue`."""

from facevalue.cli import main

main()
