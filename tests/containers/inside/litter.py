"""Leaves in every folder that is collected whatever a file system allows, and links to the host's files."""

import json
import os
import socket
import sys

FACTS = json.loads(sys.argv[1])
LINKED = [
    FACTS["canary"],
    os.path.dirname(FACTS["canary"]),
    "/etc/passwd",
    "/proc/1/environ",
    "../../../../../../etc",
]
REFUSED = []


def leave(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        REFUSED.append([action.__name__, str(error)])


def write(path, data=b"left"):
    with open(path, "wb") as file:
        file.write(data)


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 30)


def nest(depth, name):
    """Folders in folders, made from inside so that no path is too long to be given."""
    here = os.getcwd()
    for _ in range(depth):
        os.mkdir(name)
        os.chdir(name)
    write("bottom")
    os.chdir(here)


for folder in ("/logs/agent", "/logs/artifacts", "/logs/verifier"):
    os.chdir(folder)
    write("kept.txt", FACTS["kept"].encode())
    for number, target in enumerate(LINKED):
        leave(os.symlink, target, f"link{number}")
    leave(os.link, "kept.txt", "linked.txt")
    leave(os.mkfifo, "pipe")
    leave(os.mknod, "device", 0o600 | 0o020000, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as listener:
        leave(listener.bind, "socket")
    leave(sparse, "sparse")
    for name in ("n" * 255, "line\nbreak", "\x1b[2Jred", "back\\slash", "..name", "-rf", "na\u202eme", " "):
        leave(write, name)
    leave(write, b"not\xffutf8")
    leave(os.mkdir, "closed", 0)
    leave(write, "unreadable")
    leave(os.chmod, "unreadable", 0)
    leave(nest, 1500, "d")
    leave(nest, 40, "e" * 200)
    if folder == "/logs/artifacts":
        os.mkdir("many")
        for number in range(100_000):
            write(f"many/{number}", b"")
os.chdir("/logs/agent")
os.symlink(FACTS["canary"], "trajectory.json")
for number in range(3):
    leave(write, f"large{number}", b"x" * (20 << 20))
print(json.dumps({"refused": REFUSED, "folders": sorted(os.listdir("/logs"))}))
