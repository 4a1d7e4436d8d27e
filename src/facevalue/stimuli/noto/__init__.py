"""People and scenes from the Noto Emoji artwork (Google, Apache-2.0)."""
