"""Runs in object storage: units, workers, a driver, and what is brought to where it is looked at."""
