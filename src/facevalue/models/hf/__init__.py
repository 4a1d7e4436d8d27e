"""Local models: exact probabilities of answers, read over an image prefix that is run once."""
