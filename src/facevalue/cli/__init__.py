"""Command line: thin commands over the library."""

from facevalue.cli.app import main

__all__ = ["main"]
