"""Checks of pictures: what they show, and what an edit changed besides what it should."""
