"""Addresses for servers that are about to start; src/base/reserved_ports.h does the same in C++."""

import random
import socket

_CLAIMS = []  # sockets that say whose a port is, until this process ends


def _connection_ports():
    """Those that the kernel gives to connections."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            first, last = map(int, file.read().split())
    except OSError:
        first, last = 32768, 60999
    return range(first, last + 1)


def _claim(port):
    """A socket that only one process of the machine can have for a port, None when another has it or listens there."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0carillon-port-{port}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
        return claim
    except OSError:
        claim.close()
        return None


def free_addresses(count):
    """Addresses of this machine whose ports nobody else gets from here, and no connection, until this process ends."""
    taken = _connection_ports()
    candidates = [port for port in range(10000, 65536) if port not in taken] or list(range(10000, 65536))
    random.Random().shuffle(candidates)
    addresses = []
    for port in candidates:
        if len(addresses) == count:
            return addresses
        claim = _claim(port)
        if claim is not None:
            _CLAIMS.append(claim)
            addresses.append(f"127.0.0.1:{port}")
    raise RuntimeError(f"there are no {count} free ports on 127.0.0.1")
