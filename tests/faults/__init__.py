"""Faults at random: kills and errors at single file operations, power cuts, flipped bits. `make test-faults`."""
