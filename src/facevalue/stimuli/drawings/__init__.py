"""Drawings as stimuli: people, workers, portraits and fictional beings, drawn from the factors of a list."""
