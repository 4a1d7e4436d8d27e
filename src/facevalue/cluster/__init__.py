"""Runs on a Ray cluster: actors that ask units, store them and return receipts. Imported only for `--cluster`."""
