"""Page of the viewer: its HTML around the script and style that are built from `viewer/`."""

from importlib.resources import files

STATIC = {
    "viewer.js": "text/javascript; charset=utf-8",
    "viewer.css": "text/css; charset=utf-8",
    "parquet.js": "text/javascript; charset=utf-8",
}
"""Files of the page, and their types."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may load: its own files, and nothing from elsewhere. A server sends it; a folder has it in the page."""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{policy}<title>FaceValue</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="viewer.css">
</head>
<body>
<div id="app"{source}></div>
<noscript>The viewer is a script of FaceValue's own: please allow it.</noscript>
{data}<script src="viewer.js" defer></script>
</body>
</html>
"""
MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>FaceValue</title></head>
<body><p>The page of the viewer is missing from this installation (view/static/viewer.js): in a checkout, give
<code>make viewer</code>. Its documents are there: <a href="api/head">api/head</a>.</p></body></html>
"""


def page(source: str = "", data: str = "") -> str:
    r"""The page; `source`: where its documents are, if not on a server; `data`: as JSON, if they are in the page.

    Examples
    --------
    >>> page("embedded", '{"reply":"</script>"}').count("</script>"), 'data-source="folder"' in page("folder")
    (2, True)
    """
    block = ""
    if data:
        safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        block = f'<script type="application/json" id="data">{safe}</script>\n'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n' if source else ""
    return (
        _PAGE.replace("{policy}", policy)
        .replace("{source}", f' data-source="{source}"' if source else "")
        .replace("{data}", block)
    )


def built_file(name: str) -> bytes | None:
    """A file of the page; None where it was not built."""
    path = files("facevalue.view").joinpath("static", name)
    return path.read_bytes() if path.is_file() else None
