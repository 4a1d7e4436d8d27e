"""A Ray cluster of two CPUs for tests: `python -m tests.cluster.ray_head`. It ends with its standard input.

With `--nodes` it has two nodes of a CPU each, and lines of its input end parts of it at once: `raylet` (of the node
that is not the head) and `head` (what keeps the list of all nodes).
"""

import sys
from typing import Any

_MEMORY = 100 * 2**20


def main() -> None:
    """Say its address, and wait."""
    import ray

    if "--nodes" in sys.argv:
        _two_nodes()
        return
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=_MEMORY,
        log_to_driver=False,
        logging_level="CRITICAL",
    )
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
    ray.shutdown()


def _two_nodes() -> None:
    from ray.cluster_utils import Cluster

    each: dict[str, Any] = {"num_cpus": 1, "object_store_memory": _MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args={**each, "include_dashboard": False})
    other = cluster.add_node(**each)
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line.strip() == "raylet":
            other.kill_raylet(check_alive=False)
        else:
            cluster.head_node.kill_gcs_server(check_alive=False)
        print("done", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
