"""A Ray cluster of two CPUs for tests: `python -m tests.cluster.ray_head`. It ends with its standard input."""

import sys


def main() -> None:
    """Say its address, and wait."""
    import ray

    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
        logging_level="CRITICAL",
    )
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
    ray.shutdown()


if __name__ == "__main__":
    main()
