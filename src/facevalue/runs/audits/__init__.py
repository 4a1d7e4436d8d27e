"""Audits: every study that the pictures allow, asked of one model within one budget."""
