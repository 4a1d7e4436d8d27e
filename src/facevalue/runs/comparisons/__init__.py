"""Comparisons of runs: cells, flipped answers, models of one page, and histories, judged at one level."""
