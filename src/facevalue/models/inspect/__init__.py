"""Models of Inspect (`inspect_ai`): any of its providers, asked by our runner.

Only `calls`, `messages` and `replies` import it.
"""
