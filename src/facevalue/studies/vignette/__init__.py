"""VIGNETTE: two people in one picture, and what a model knows, assumes, believes and decides about them."""
