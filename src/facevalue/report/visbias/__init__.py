"""The report of VisBias."""
