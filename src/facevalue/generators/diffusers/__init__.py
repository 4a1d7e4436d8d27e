"""Generators and editors on this machine: pipelines of diffusers, from a folder or the hub's cache."""
