"""Runs inside the probe's container: what does a container on this network reach?

Arguments: the DNS server, the name to ask it for, addresses of the host to knock at. It prints one line a
finding: `dns KIND`, `host ADDRESS KIND`, `ipv6 NUMBER`. Only what Debian's python3-minimal has is imported.
"""

import select
import socket
import struct
import sys
from pathlib import Path

SECONDS = 4
RCODES = {0: "answered", 3: "denied", 2: "failed", 5: "refused"}


def main() -> None:
    """Try everything at once, and print what came of it."""
    server, name, *hosts = sys.argv[1:]
    knocks = [(host, knock(host)) for host in hosts]
    lines = [f"dns {ask(server, name)}"]
    lines += [f"host {host} {heard(host, tried)}" for host, tried in knocks]
    lines.append(f"ipv6 {ipv6_addresses()}")
    sys.stdout.write("\n".join(lines) + "\n")


def ask(server: str, name: str) -> str:
    """How the server answers for the name's address; `server` may have a port behind a colon."""
    host, _, port = server.partition(":")
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    question = struct.pack(">HHHHHH", 4711, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        asked.settimeout(SECONDS)
        try:
            asked.sendto(question, (host, int(port or 53)))
            reply = asked.recv(512)
        except OSError:
            return "silent"
    return RCODES.get(reply[3] & 15, "failed") if len(reply) > 3 else "failed"


def knock(host: str) -> socket.socket:
    """Begin to connect to a port that nobody listens on: a host that is there refuses at once."""
    tried = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tried.setblocking(False)
    tried.connect_ex((host, 9))
    return tried


def heard(host: str, tried: socket.socket) -> str:
    """`reached` if the host answered, if only to who asked for its hardware's address; `own` if it is us."""
    with tried:
        if own_address(host) == host:
            return "own"
        ready = select.select([], [tried], [], SECONDS)[1]
        error = tried.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if ready else None
    answered = ready and error in (0, 104, 111)  # connected, reset, refused
    return "reached" if answered or host in neighbours() else "unreached"


def own_address(towards: str) -> str:
    """The address that this container has towards another; empty if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect((towards, 9))
        except OSError:
            return ""
        return str(asked.getsockname()[0])


def neighbours() -> set[str]:
    """Addresses whose hardware's address is known: whoever has them answered on this link."""
    rows = [line.split() for line in Path("/proc/net/arp").read_text().splitlines()[1:]]
    return {row[0] for row in rows if int(row[2], 16) & 2}


def ipv6_addresses() -> int:
    """IPv6 addresses other than the loopback's."""
    table = Path("/proc/net/if_inet6")
    lines = table.read_text().splitlines() if table.exists() else []
    return sum(line.split()[5] != "lo" for line in lines)


if __name__ == "__main__":
    main()
