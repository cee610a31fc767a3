"""A world outside that answers nobody and remembers who called.

python -m tests.outside RECORD COMMAND…      run a command where every packet for another machine ends in RECORD, a line each

In a network namespace of one's own (`unshare -rnm`) the only way out is a device that this process reads, so that native
code is seen as well as Python. The audit hook of HOOK names what Python code called, and refuses it, where there is no
namespace to be had too; it writes to the file that $CANONRY_TEST_CALLS names.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

NAMESPACE = ["unshare", "-rnm"]
CALLS = "CANONRY_TEST_CALLS"
HOOK = """
import ipaddress, os, sys, traceback
_HOST = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0, "socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
def _is_here(host):
    if host is None or host in ("", b"", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False
def _watch(event, arguments):
    if event in _HOST:
        called = arguments[_HOST[event]]
        if isinstance(called, tuple):
            called = called[0]
        elif event.startswith(("socket.connect", "socket.send")):
            return  # a socket of this machine, or one that is connected
        if not _is_here(called):
            with open(os.environ["CANONRY_TEST_CALLS"], "a") as to:
                where = [frame.filename for frame in traceback.extract_stack()[-6:-1]]
                to.write(f"{event} {called} by {where}\\n")
            raise OSError(101, "there is no outside")
sys.addaudithook(_watch)
"""
_TUNSETIFF, _TUN_NO_HEADER, _OUTSIDE_DNS = 0x400454CA, 0x1001, "10.77.0.53"
_SET_UP = """
ip link set lo up && ip addr add 10.77.0.1/24 dev out0 && ip -6 addr add fd77::1/64 dev out0 nodad && ip link set out0 up &&
ip route add default dev out0 && ip -6 route add default dev out0 && mount --bind {resolv} /etc/resolv.conf
"""
_ICMP_V6 = 58  # of the system itself, which looks for routers


def namespaces_work(folder: Path) -> bool:
    """Whether this system lets a test have a namespace with such a device."""
    try:
        return subprocess.run(in_namespace(folder / "probe", "true"), capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def in_namespace(record: Path, *command: str) -> list[str]:
    """The command, run where every packet for another machine ends in `record`."""
    return [*NAMESPACE, sys.executable, "-m", "tests.outside", str(record), *command]


def main(record: str, *command: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"out0", _TUN_NO_HEADER))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as resolv:
        resolv.write(f"nameserver {_OUTSIDE_DNS}\noptions timeout:1 attempts:1\n")
        resolv.flush()
        subprocess.run(["sh", "-c", _SET_UP.format(resolv=resolv.name)], check=True)
        threading.Thread(target=_listen, args=(device, record), daemon=True).start()
        return subprocess.run(command, check=False).returncode


def _listen(device: int, record: str) -> None:
    with Path(record).open("a", encoding="ascii", buffering=1) as to:
        while packet := os.read(device, 65_536):
            header, protocol, host = _read(packet)
            if protocol not in (0, _ICMP_V6):
                asked = f" for {_dns_name(packet[header + 8 :])}" if host == _OUTSIDE_DNS else ""
                to.write(f"protocol {protocol} to {host}{asked}\n")


def _read(packet: bytes) -> tuple[int, int, str]:
    """(bytes of the header, protocol, where to) of an IP packet."""
    if packet[0] >> 4 == 4:
        return 20, packet[9], socket.inet_ntop(socket.AF_INET, packet[16:20])
    return 40, packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40])


def _dns_name(question: bytes) -> str:
    labels, at = [], 12
    while at < len(question) and question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode("ascii", "replace"))
        at += 1 + question[at]
    return ".".join(labels)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
