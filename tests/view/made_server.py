"""A static server of exported folders, and one that answers as the viewer's does, both of made up documents."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import polars as pl

from tests.view.made_documents import TRIALS, Document, documents, png, stored, trial_document

STATIC = Path(__file__).parents[2] / "src/facevalue/view/static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>FaceValue</title><link rel="icon" href="data:,"><link rel="stylesheet" href="viewer.css"></head>
<body><div id="app"{source}></div>{data}<script src="viewer.js" defer></script></body></html>"""
KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".json": "application/json",
    ".png": "image/png",
}


def exported(folder: Path, runs: int = 1, *, embedded: bool = False) -> Path:
    """Write made up documents as an export does; return its page."""
    made = dict(documents(runs))
    rows = {run: [row for trial in range(TRIALS) for row in stored(trial, run)] for run in range(runs)}
    folder.mkdir()
    for name in ("viewer.js", "viewer.css", "parquet.js"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    (folder / "picture/0").mkdir(parents=True)
    for color in ("dark", "light"):
        (folder / f"picture/0/{color}.png").write_bytes(png(color))
    data = ""
    if embedded:
        text = json.dumps(made | {f"rows-{run}": of for run, of in rows.items()}).replace("<", "\\u003c")
        data = f'<script type="application/json" id="data">{text}</script>'
    else:
        (folder / "data/cells").mkdir(parents=True)
        for name, document in made.items():
            (folder / f"data/{name}.json").write_text(json.dumps(document), encoding="utf-8")
        for run, of in rows.items():
            frame = pl.DataFrame(of, infer_schema_length=None)
            frame.write_parquet(folder / f"data/answers-{run}.parquet", compression="zstd", row_group_size=40)
    source = ' data-source="embedded"' if embedded else ' data-source="folder"'
    page = folder / "index.html"
    page.write_text(PAGE.format(source=source, data=data), encoding="utf-8")
    return page


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def answer(self, body: bytes, kind: str, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        names = {"Content-Type": kind, "Content-Length": str(len(body)), "Content-Security-Policy": POLICY}
        for name, value in (names | {name.replace("_", "-"): value for name, value in headers.items()}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


class _Folder(_Handler):
    def __init__(self, folder: Path, asked: list[str], *args: object) -> None:
        self.folder, self.asked = folder, asked
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        name = urlsplit(self.path).path.lstrip("/") or "index.html"
        self.asked.append(name)
        path = self.folder / name
        if not path.is_file():
            return self.answer(b"", "text/plain", 404)
        data, kind = path.read_bytes(), KINDS.get(path.suffix, "application/octet-stream")
        if part := self.headers.get("Range"):
            first, _, last = part.removeprefix("bytes=").partition("-")
            start, stop = (
                (int(first), int(last) + 1 if last else len(data)) if first else (len(data) - int(last), len(data))
            )
            return self.answer(
                data[start:stop], kind, 206, Content_Range=f"bytes {start}-{min(stop, len(data)) - 1}/{len(data)}"
            )
        return self.answer(data, kind, Accept_Ranges="bytes")

    do_HEAD = do_GET


class _Viewer(_Handler):
    def __init__(self, make: Callable[[], Mapping[str, Document]], asked: list[str], *args: object) -> None:
        self.make, self.asked = make, asked
        super().__init__(*args)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        name, query = address.path.lstrip("/"), {k: v[0] for k, v in parse_qs(address.query).items()}
        self.asked.append(name)
        if name in ("", "viewer.js", "viewer.css"):
            body = (STATIC / name).read_bytes() if name else PAGE.format(source="", data="").encode()
            return self.answer(body, KINDS[Path(name).suffix or ".html"])
        if name.startswith("picture/"):
            return self.answer(png(Path(name).stem), "image/png")
        document = self.document(name.removeprefix("api/"), query)
        status = 200 if document else 404
        return self.answer(
            json.dumps(document or {"error": "There is no such trial."}).encode(), "application/json", status
        )

    def document(self, kind: str, query: Mapping[str, str]) -> Document | None:
        made, run = self.make(), query.get("run", "0")
        if kind == "trial":
            number = int(query["trial"])
            return trial_document(number, int(run)) if number < TRIALS else None
        if kind == "answers":
            rows = [{**trial_document(trial), **trial_document(trial)["replies"][0]} for trial in range(50)]
            return {**made["answers-0"], "total": TRIALS, "searched": None, "rows": rows}
        if kind == "cell":
            return made.get(f"cells/{run}-{query['key']}")
        return made.get(kind) or made.get(f"{kind}-{run}")


@contextmanager
def _served(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@contextmanager
def folder_served(folder: Path, asked: list[str]) -> Iterator[str]:
    """Serve a folder; `asked` gets the name of everything that is asked for."""
    with _served(partial(_Folder, folder, asked)) as address:
        yield address


@contextmanager
def viewer_served(make: Callable[[], Mapping[str, Document]], asked: list[str]) -> Iterator[str]:
    """Answer as the viewer's server with the documents that are made at each request."""
    with _served(partial(_Viewer, make, asked)) as address:
        yield address
