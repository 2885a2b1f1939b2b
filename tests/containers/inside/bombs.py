"""Uses up everything that a container has, and kills whatever it may."""

import errno
import json
import os
import signal
import time

FOUND = {}
MOUNTS = ("/workspace", "/home/agent", "/logs/agent", "/tmp", "/dev/shm")


def fork_bomb():
    children = []
    try:
        while len(children) < 5000:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    except OSError as error:
        FOUND["forks end by"] = errno.errorcode[error.errno]
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def memory_bomb():
    child = os.fork()
    if child == 0:
        held = []
        while True:
            held.append(bytearray(b"x" * (64 << 20)))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fill(folder):
    """MiB written until it was full, at most 1 GiB."""
    path, piece, size = f"{folder}/filling", b"x" * (1 << 20), 0
    try:
        with open(path, "wb", buffering=0) as file:
            while size < 1024 and file.write(piece):
                size += 1
    except OSError as error:
        return [size, errno.errorcode[error.errno]]
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return [size, "no end"]


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"


FOUND["forks"] = fork_bomb()
FOUND["memory"] = memory_bomb()
FOUND["filled"] = {folder: fill(folder) for folder in MOUNTS}
FOUND["kill"] = {
    number: kill(int(number))
    for number in os.listdir("/proc")
    if number.isdigit() and int(number) != os.getpid()
}
FOUND["kill"]["1"] = kill(1)
FOUND["kill all"] = kill(-1)
print(json.dumps(FOUND))
