"""Addresses for tests that start servers."""

import contextlib
import socket


def free_addresses(count):
    """Addresses of this machine whose ports are free, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
