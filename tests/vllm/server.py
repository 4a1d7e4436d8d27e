"""A real `vllm serve` on the CPU with a tiny model; it ends with whoever started it, however that ends.

Usage: server.py PORT FOLDER [OPTION ...], by an interpreter beside which vLLM is installed (`make test-vllm`).
"""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

CONTEXT = 4096
MODEL = "tiny"
_WAIT = 600
OWN = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1"}


def renamed(folder: Path) -> Path:
    """Give the weights of a CLIP tower the names that vLLM 0.32 knows; transformers 5.19 writes others."""
    numpy = import_module("safetensors.numpy")
    path = folder / "model.safetensors"
    tensors = numpy.load_file(path)
    old = re.compile(r"vision_tower\.(?!vision_model\.)")
    numpy.save_file({old.sub("vision_tower.vision_model.", k): v for k, v in tensors.items()}, path, {"format": "pt"})
    return folder


@contextmanager
def serving(folder: Path, *options: str, log: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a server that counts what its cache of prefixes gives; yield its base address and its keeper."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(Path(__file__)), str(port), str(folder), *options]
    with log.open("w") as out, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out) as keeper:
        try:
            url = f"http://127.0.0.1:{port}"
            ends = time.monotonic() + _WAIT
            while not _answers(url):
                if keeper.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(f"vLLM did not start:\n{log.read_text()[-4000:]}")
                time.sleep(0.5)
            yield f"{url}/v1", keeper
        finally:
            ended(keeper)


def ended(keeper: "subprocess.Popen[bytes]") -> None:
    """End a server by closing what its keeper reads; once is enough."""
    assert keeper.stdin is not None
    keeper.stdin.close()
    keeper.wait(60)


def _answers(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/health", timeout=5) as reply:
            return int(reply.status) == 200
    except OSError:
        return False


def main(port: str, folder: str, *options: str) -> None:
    """Run the server in a group of its own until it ends or standard input is closed; then end the whole group."""
    command = [
        str(Path(sys.executable).with_name("vllm")), "serve", folder, "--host", "127.0.0.1", "--port", port,
        "--served-model-name", MODEL, "--dtype", "float32", "--enforce-eager", "--max-model-len", str(CONTEXT),
        "--generation-config", "vllm", "--limit-mm-per-prompt", '{"image": 2}', "--enable-prompt-tokens-details",
        *options,
    ]  # fmt: skip
    for each in (signal.SIGINT, signal.SIGTERM):  # they are for whoever started this, whose end closes standard input
        signal.signal(each, lambda *_: None)
    env: Mapping[str, str] = os.environ | OWN
    server = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=lambda: (server.wait(), os._exit(1)), daemon=True).start()
    sys.stdin.read()
    os.killpg(server.pid, signal.SIGTERM)
    for _ in range(100):
        time.sleep(0.1)
        if server.poll() is not None:
            break
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
