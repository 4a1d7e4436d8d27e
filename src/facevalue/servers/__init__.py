"""Servers on the web: addresses and keys, connections with everything bounded, retries, budgets, outages."""
