"""VisBias: explicit and implicit bias in choices, comparisons, descriptions and forms."""
