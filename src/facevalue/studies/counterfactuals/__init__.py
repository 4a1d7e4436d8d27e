"""Counterfactuals at scale: open text, toxicity, stereotypes, competence and ratings over sets of pictures."""
