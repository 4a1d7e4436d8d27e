"""A loopback server of pictures in the three shapes that are in use, which misbehaves on demand."""

import base64
import email.parser
import email.policy
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import PIL.Image
import pytest

from tests.models.misbehaving import Exchange, Json, Misbehaving

FIELDS = {
    "openai": ("prompt", "model", "n", "size", "quality", "background", "output_format", "output_compression", "user"),
    "vllm-omni": (
        *("prompt", "model", "n", "size", "response_format", "user", "negative_prompt", "num_inference_steps"),
        *("guidance_scale", "true_cfg_scale", "seed", "generator_device", "output_format"),
    ),
    "sglang": (
        *("prompt", "model", "n", "size", "response_format", "quality", "background", "output_format", "user"),
        *("num_inference_steps", "guidance_scale", "true_cfg_scale", "seed", "negative_prompt"),
    ),
}
"""What each takes, besides what its two paths have of their own."""
OF_ONE_PATH = {
    "openai": {"generations": ("moderation",), "edits": ("image", "mask", "input_fidelity")},
    "vllm-omni": {"generations": ("layers",), "edits": ("image", "image[]", "mask_image", "strength")},
    "sglang": {"generations": ("style",), "edits": ("image", "image[]", "url")},
}


def picture(text: str, kind: str = "PNG", size: tuple[int, int] = (24, 16)) -> bytes:
    """A small picture whose colour is that of a text."""
    file = io.BytesIO()
    colour = tuple(hashlib.sha256(text.encode()).digest()[:3])
    PIL.Image.new("RGB", size, colour).save(file, kind)
    return file.getvalue()


def base64_of(data: bytes) -> str:
    """A file as replies hold it."""
    return base64.b64encode(data).decode()


class PicturesServer(Misbehaving):
    """Where the server is, in which shape it speaks, and what it was asked.

    Attributes
    ----------
    shape:
        "openai", which refuses what it does not know; "vllm-omni", which drops it, and has a document of what it takes;
        "sglang", which drops it, and sends URLs unless it is asked for data; here without a document.
    """

    def __init__(self, shape: str) -> None:
        super().__init__()
        self.shape = shape
        self.models = {"data": [{"id": "painter"}]}
        self.otherwise = self.draw

    @property
    def spec(self) -> str:
        """The spec of a generator there."""
        return f"{self.url}#painter"

    def parsed(self, headers: Mapping[str, str], body: bytes) -> Json:
        """Read JSON or a form; a file is its bytes, under `image`, and its type, under `image type`."""
        kind = headers.get("content-type", "")
        if kind == "application/json":
            value: Json = json.loads(body)
            return value
        head = f"Content-Type: {kind}\r\n\r\n".encode()
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        fields: Json = {}
        for field in form.iter_parts():
            name = str(field.get_param("name", header="content-disposition"))
            content = field.get_payload(decode=True)
            assert isinstance(content, bytes)
            if field.get_filename():
                fields |= {
                    name: content,
                    f"{name} type": field.get_content_type(),
                    f"{name} name": field.get_filename(),
                }
            else:
                fields[name] = content.decode()
        return fields

    def get(self, exchange: Exchange) -> None:
        """Show the models, or the document of what is taken."""
        path = exchange.handler.path
        if path == "/v1/models":
            exchange.json(200, self.models)
        elif path == "/openapi.json" and self.shape == "vllm-omni":
            exchange.json(200, document())
        else:
            exchange.json(404, {"detail": "Not Found"})

    def draw(self, exchange: Exchange) -> None:
        """Make a picture as its shape does."""
        fields = {name: value for name, value in exchange.body.items() if not name.startswith("image ")}
        path = exchange.handler.path.rpartition("/")[2]
        if self.shape == "openai":
            taken = FIELDS["openai"] + OF_ONE_PATH["openai"][path]
            if unknown := [name for name in fields if name not in taken]:
                message = f"Unknown parameter: '{unknown[0]}'."
                problem = {"message": message, "type": "invalid_request_error", "param": unknown[0]}
                exchange.json(400, {"error": {**problem, "code": "unknown_parameter"}})
                return
        if self.shape == "vllm-omni" and int(fields.get("num_inference_steps", 1)) > 200:
            message = "Input should be less than or equal to 200"
            place = ["body", "num_inference_steps"]
            limit: Json = {"type": "less_than_equal", "loc": place, "msg": message, "input": fields["prompt"]}
            exchange.json(422, {"detail": [limit]})
            return
        kind = str(fields.get("output_format", "png"))
        file = picture(f"{fields['prompt']} {fields.get('seed')}", kind.upper(), (24, 16))
        self.send(exchange, file, output_format=kind)

    def send(self, exchange: Exchange, file: bytes, **echoes: Any) -> None:
        """Send a picture as its shape does."""
        asked = exchange.body
        entry: Json
        more: Json
        if self.shape == "openai":
            entry = {"b64_json": base64_of(file)}
            more = {"background": "opaque", "quality": asked.get("quality", "high"), "size": "24x16"}
            more["usage"] = {"input_tokens": 11, "output_tokens": 4160, "total_tokens": 4171}
        elif self.shape == "vllm-omni":
            entry = {"b64_json": base64_of(file), "url": None, "revised_prompt": None}
            more = {"size": "24x16", "cot_output": None, "metrics": {"steps": 2}}
        else:
            inline = asked.get("response_format") == "b64_json"
            entry = {"b64_json": base64_of(file)} if inline else {"url": "/v1/images/7/content"}
            entry |= {"revised_prompt": asked["prompt"], "file_path": "/srv/outputs/7.png"}
            more = {"id": "7", "peak_memory_mb": 8.5, "inference_time_s": 0.2}
        exchange.json(200, {"created": 1_790_000_000, "data": [entry], **more, **echoes})


def document(**properties: object) -> Json:
    """The OpenAPI document of vLLM-Omni, as far as it is looked at."""
    schemas = {
        path: {"properties": {name: {} for name in (*FIELDS["vllm-omni"], *of_path)} | properties, "type": "object"}
        for path, of_path in OF_ONE_PATH["vllm-omni"].items()
    }

    def post(path: str, kind: str) -> Json:
        schema = {"$ref": f"#/components/schemas/{path}"}
        return {"post": {"requestBody": {"content": {kind: {"schema": schema}}, "required": True}}}

    return {
        "openapi": "3.1.0",
        "paths": {
            "/health": {"get": {}},
            "/v1/images/generations": post("generations", "application/json"),
            "/v1/images/edits": post("edits", "multipart/form-data"),
        },
        "components": {"schemas": schemas},
    }


Behaviour = Callable[[Exchange], None]


def reply(*entries: object, **more: object) -> Behaviour:
    """Send these entries as data."""
    return lambda exchange: exchange.json(200, {"created": 1, "data": list(entries), **more})


def fastapi(status: int, detail: object) -> Behaviour:
    """Send an error as servers built on FastAPI do."""
    return lambda exchange: exchange.json(status, {"detail": detail})


async def no_wait(seconds: float) -> None:
    """Wait for nothing."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, and no proxy to the loopback."""
    for name in ("FACEVALUE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(params=["openai", "vllm-omni", "sglang"])
def server(request: pytest.FixtureRequest) -> Iterator[PicturesServer]:
    """A server of each shape."""
    with PicturesServer(request.param).served() as served:
        yield served  # type: ignore[misc]


@pytest.fixture
def omni() -> Iterator[PicturesServer]:
    """A server of vLLM-Omni's shape."""
    with PicturesServer("vllm-omni").served() as served:
        yield served  # type: ignore[misc]
