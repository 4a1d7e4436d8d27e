"""Python API: what `import facevalue` offers, thin over what the commands use."""
