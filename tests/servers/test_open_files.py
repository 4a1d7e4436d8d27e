"""Processes that may open few files: fewer requests at once, said; never a broken run."""

import subprocess
import sys

import pytest

from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.servers import pool as open_files
from facevalue.servers.pool import concurrency_note, requests_at_once

PROBE = """
import asyncio, resource, sys
from contextlib import nullcontext
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from facevalue.servers.pool import concurrency_note
from facevalue.servers.pool import Pool
import os
now, most = [0], [0]

async def hold(_, number):
    now[0] += 1
    most[0] = max(most)
    most.append(now[0])
    ends = os.pipe()  # as many files as a request has
    await asyncio.sleep(0.005)
    for end in ends:
        os.close(end)
    now[0] -= 1
    return number

with Pool(nullcontext) as pool:
    count = len(list(pool.map(hold, range(300), 256)))
print(count, max(most), concurrency_note(256))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "all_at_once"), [(64, 64, False), (40, 40, False), (64, 4096, True), (1024, 1024, True)]
)
def test_requests_at_once_fit_the_files_that_may_be_open(soft: int, hard: int, all_at_once: bool) -> None:
    code = PROBE.format(soft=soft, hard=hard)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    count, most, *sentence = ended.stdout.split(maxsplit=2)
    assert count == "300", ended.stderr
    assert int(most) <= 256
    if all_at_once:
        assert not sentence
    else:
        assert int(most) < soft
        assert "of 256 requests at once: this process may open few files" in sentence[0]


def test_a_model_says_that_fewer_requests_are_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "_open_files", lambda: 10**9)
    assert requests_at_once(256) == 1
    assert concurrency_note(1) == ""
    model = OpenAIModel("http://127.0.0.1:9/v1#m", ModelOptions(concurrency=256))
    assert model.notes[-1].startswith("At most 1 of 256 requests at once")
