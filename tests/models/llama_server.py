"""Serve a GGUF model with llama.cpp until standard input closes; prints the address.

Usage: llama_server.py MODEL PROJECTOR SLOTS [KEY], where PROJECTOR may be empty. A program of its own, so that whoever
started it can end it reliably, and a processor that can't run it takes nobody along. `serving` starts it so.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """Run the server in a process of its own; yield its base address."""
    command = [sys.executable, str(Path(__file__)), *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line.startswith("listening "):
            process.wait(10)
            if process.returncode < 0:
                import pytest

                pytest.skip(f"this machine cannot run llama.cpp's server: signal {-process.returncode}")
            raise RuntimeError(process.stderr.read())
        yield line.split()[1] + "/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def main() -> None:
    import xllamacpp  # a crash of this module is met only by who runs it

    model, projector, slots, *keys = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.mmproj.path = projector
    params.mmproj_use_gpu = False
    params.api_keys = keys
    params.n_parallel = int(slots)
    params.n_ctx = 2048 * int(slots)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.fit_params = False
    params.warmup = False
    params.ui = False
    params.verbosity = 1
    params.cache_ram_mib = 0
    params.sampling.top_k = 0  # llama.cpp's own defaults cut the tail off, whatever a request's top_p says
    params.sampling.min_p = 0.0
    params.sampling.top_p = 1.0
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
