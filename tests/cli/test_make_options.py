"""What a generator and an editor are told where they are of different kinds."""

import pytest

from facevalue.cli.actions.pictures import _options

SHARED = {"concurrency": 4, "device": "cuda", "dtype": "bfloat16", "batch": 8, "size": (64, 64)}
SERVER, PIPELINE = "http://127.0.0.1:8000/v1#painter", "diffusers/folder"


@pytest.mark.parametrize(
    ("spec", "partner", "is_told"),
    [
        (SERVER, PIPELINE, False),
        ("openai/gpt-image-2", PIPELINE, False),
        (PIPELINE, SERVER, True),
        (PIPELINE, None, True),
        (SERVER, None, True),  # and refuses it
        (SERVER, SERVER, True),
        ("drawn", PIPELINE, False),
        ("replay/folder", SERVER, True),  # and refuses it
    ],
)
def test_a_server_beside_a_pipeline_is_not_told_the_device_of_that(
    spec: str, partner: str | None, is_told: bool
) -> None:
    options = _options(spec, partner, SHARED, {"quality": "low"})
    assert (options.device, options.dtype, options.batch) == (("cuda", "bfloat16", 8) if is_told else (None, None, 1))
    assert (options.concurrency, options.size, options.settings) == (4, (64, 64), {"quality": "low"})
