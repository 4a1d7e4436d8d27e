"""Server of the viewer: loopback only, a port and a token of its own, until it is interrupted."""

import os
import secrets
import socket
import webbrowser

import uvicorn

from facevalue.errors import SettingError
from facevalue.runs.interrupts import Interrupts
from facevalue.view.app import application
from facevalue.view.opened import OpenedRuns

HOST = "127.0.0.1"
PATIENCE = 0.15
"""Seconds that a document waits for what is made in the background; then the page asks again after a moment."""


class Viewer:
    """A viewer of runs: it has its port and token at once, and answers while it is served.

    Parameters
    ----------
    runs:
        What is looked at.
    port:
        Port on this machine; 0 for any that is free.

    Raises
    ------
    SettingError
        The port is taken, or may not be used.
    """

    def __init__(self, runs: OpenedRuns, port: int = 0) -> None:
        self._socket = _socket(port)
        number, token = self._socket.getsockname()[1], secrets.token_urlsafe(32)
        self._root = f"http://{HOST}:{number}/"
        self.address = f"{self._root}?token={token}"
        """What to open, with the token."""
        self._app = application(runs, token, number)

    def serve(self, *, browser: bool) -> None:
        """Answer until interrupted, which raises KeyboardInterrupt.

        `browser`: whether to open the address in the browser.
        """
        config = uvicorn.Config(
            self._app, log_level="error", access_log=False, lifespan="off", server_header=False, date_header=False,
            http="h11", ws="none", loop="asyncio", h11_max_incomplete_event_size=32_768, timeout_graceful_shutdown=1,
        )  # fmt: skip
        if browser:
            webbrowser.open(f"{self._root}?once={self._app.code()}")
        with self._socket, Interrupts(0):  # of its own: in a background job SIGINT is ignored
            uvicorn.Server(config).run(sockets=[self._socket])


def _socket(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # so that a port can be had again at once; elsewhere another process could share it
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise SettingError(f"Port {port} of this machine cannot be used ({error.strerror}): name another.") from error
    listening.listen()
    return listening
