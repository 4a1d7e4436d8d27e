"""Stimuli: pictures from files or drawn, pairs, forms, scenes, and lists of them."""
