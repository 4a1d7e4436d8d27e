"""What the documentation site shows of the code, as Markdown: commands, measures, the Python API, charts, a gallery."""
