"""Blocks of a page, made ready: from a declaration and estimates to contents with every text in them."""
