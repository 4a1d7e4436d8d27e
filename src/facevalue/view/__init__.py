"""Viewer: from every number of a run to the pictures and words behind it.

Documents are plain data, made by functions over stored runs and the report's own words; they know nothing of HTTP.
`app` maps addresses to them, `export` writes them to files.
"""
