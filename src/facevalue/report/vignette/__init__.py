"""VIGNETTE's part of the report."""
