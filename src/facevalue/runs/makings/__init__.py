"""Makings: pictures made to order as runs, their records, and what is to be known of them."""
