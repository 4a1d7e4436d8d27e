"""Processes beside this one: those that end with it, and forks, in which FaceValue cannot compute.

Polars' threads do not survive a fork.
"""

import os

from facevalue.errors import RunError

_state = {"used": False, "forked": False}


def _after() -> None:
    _state["forked"] = _state["used"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after)


def check_process() -> None:
    """Remember that this process computes; raise `RunError` in a fork of one that did, where it would hang."""
    if _state["forked"]:
        raise RunError(
            "This process was forked from one that had used FaceValue, and would hang: the threads by which Polars "
            "computes do not survive a fork. Start processes with multiprocessing.get_context('spawn')."
        )
    _state["used"] = True


def end_with_parent() -> None:
    """End this process when the one that it helps is killed: nobody else would tell it."""
    from multiprocessing import connection, parent_process  # noqa: PLC0415 - few processes help another
    from threading import Thread  # noqa: PLC0415

    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (connection.wait([parent.sentinel]), os._exit(1)), daemon=True).start()
