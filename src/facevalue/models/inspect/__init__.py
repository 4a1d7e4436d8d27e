"""Models of Inspect (`inspect_ai`): any of its providers, asked by our runner.

Only `adapter`, `calls`, `failures` and `messages` import it.
"""
