"""Sections and cards of every page: its answer, findings and sizes, reasons to doubt, differences, next steps."""
