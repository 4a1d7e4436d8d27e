"""Limits of runs: what a file declares, which estimates it is about, and whether these lie within."""
