"""Everything in reach of one user of a container: what could be done, and where something was found."""

import ctypes
import errno
import json
import mmap
import os
import socket
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor

FACTS = json.loads(sys.argv[1])
NEEDLES = {name: value.encode() for name, value in FACTS["needles"].items()}
LIBC = ctypes.CDLL(None, use_errno=True)


def tell(action):
    """What became of an action: "done", or the name of the error."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except Exception as error:  # noqa: BLE001 - told of by its name
        return type(error).__name__
    return "done"


def call(name, *arguments):
    ctypes.set_errno(0)
    if getattr(LIBC, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def write(path, text="1\n"):
    with open(path, "w") as file:
        file.write(text)


def unshare(flags):
    """In a child, so that nothing later is changed."""
    in_child(lambda: call("unshare", flags))


def in_child(action):
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, "in the child")


def vsock():
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as one:
        one.settimeout(1)
        one.connect((2, FACTS["port"]))


def files():
    """Where needles are in files, files of names that have no place here, and files that raise rights."""
    found, named, setuid = [], [], []
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/proc", "/sys")]
        for name in names:
            path = os.path.join(folder, name)
            if name in FACTS["names"]:
                named.append(path)
            try:
                status = os.lstat(path)
                if not stat.S_ISREG(status.st_mode) or not status.st_size:
                    continue
                if status.st_mode & 0o6000:
                    setuid.append(path)
                with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    found += [[path, what] for what, needle in NEEDLES.items() if data.find(needle) >= 0]
            except (OSError, ValueError):
                continue
    return found, named, setuid


def processes():
    """Where needles are in what /proc tells of every process, leaving out this one's arguments."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        for part in ("environ", "cmdline", "mountinfo", "mounts", "cgroup", "net/tcp", "net/unix", "maps"):
            try:
                with open(f"/proc/{number}/{part}", "rb") as file:
                    text = file.read()
            except OSError:
                continue
            if part == "cmdline" and b"needles" in text:
                continue
            found += [[f"{number}/{part}", what] for what, needle in NEEDLES.items() if needle in text]
    return found


def connect(place):
    host, port = place
    try:
        with socket.create_connection((host, port), timeout=1.5):
            return [host, port]
    except OSError:
        return None


def resolve(name):
    try:
        return sorted({entry[4][0] for entry in socket.getaddrinfo(name, 80)})
    except OSError:
        return []


def forwarded():
    """Whether the resolver asks somebody else about a name that only somebody else could deny."""
    query = (
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x0fnobody-has-this\x07invalid\x00\x00\x01\x00\x01"
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(3)
        try:
            asking.sendto(query, ("127.0.0.11", 53))
            return (asking.recv(512)[3] & 15) in (0, 3)
        except OSError:
            return False


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().splitlines()


CLONE = {"mount": 0x00020000, "user": 0x10000000, "net": 0x40000000}
TRIES = {
    "mknod": lambda: os.mknod("/workspace/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0)),
    "mount": lambda: call("mount", b"none", b"/workspace", b"tmpfs", 0, None),
    "mount cgroup": lambda: call("mount", b"none", b"/workspace", b"cgroup", 0, b"memory"),
    "unmount": lambda: call("umount2", b"/workspace", 2),
    "remount": lambda: call("mount", b"none", b"/", b"none", 32, None),
    "core pattern": lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"),
    "ipv6": lambda: write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "0"),
    "sysrq": lambda: write("/proc/sysrq-trigger", "h"),
    "uevent": lambda: write("/sys/kernel/uevent_helper", "/tmp/x"),
    "cgroup": lambda: write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "-1"),
    "release agent": lambda: write("/sys/fs/cgroup/memory/release_agent", "/tmp/x"),
    "root file system": lambda: write("/etc/passwd.new"),
    "program": lambda: write("/usr/local/bin/claude"),
    "hosts": lambda: write("/etc/hosts"),
    "resolver": lambda: write("/etc/resolv.conf"),
    "chroot": lambda: in_child(lambda: os.chroot("/workspace")),
    "become another": lambda: in_child(lambda: os.setuid(33)),
    "become root": lambda: in_child(lambda: os.setuid(0)),
    "unshare mounts": lambda: unshare(CLONE["mount"]),
    "unshare user": lambda: unshare(CLONE["user"]),
    "unshare network": lambda: unshare(CLONE["net"]),
    "trace init": lambda: call("ptrace", 16, 1, 0, 0),
    "memory of init": lambda: open("/proc/1/mem", "rb+").close(),
    "output of init": lambda: open("/proc/1/fd/1", "wb").close(),
    "kernel memory": lambda: open("/dev/mem", "rb").close(),
    "kernel log": lambda: open("/dev/kmsg", "rb").close(),
    "disk": lambda: open("/dev/vda", "rb").close(),
    "fuse": lambda: open("/dev/fuse", "rb").close(),
    "raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3).close(),
    "vsock": vsock,
    "keyring": lambda: in_child(lambda: call("syscall", 250, 0, -3, 1, 0, 0)),
    "bpf": lambda: call("syscall", 321, 0, 0, 0),
    "own a system file": lambda: os.chown("/etc/passwd", 1000, 1000),
    "kill init": lambda: os.kill(1, 0),
    "time": lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
}
"""What to try → how; attempts that would end the trial are tried by another script."""

docker = [
    path for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd") if os.path.exists(path)
]
places = [(host, FACTS["port"]) for host in FACTS["gateways"] + FACTS["hosts"]]
places += [(host, port) for host in FACTS["gateways"] for port in (22, 53, 80, 2375, 2376)]
places += [(host, port) for host in FACTS["others"] for port in (8000, 9001)]
places += [tuple(place) for place in FACTS["outside"]]
with ThreadPoolExecutor(64) as pool:
    reached = [place for place in pool.map(connect, places) if place]
write("/tmp/control", FACTS["needles"]["control"])
in_files, named, setuid = files()
os.unlink("/tmp/control")
print(
    json.dumps(
        {
            "uid": os.getuid(),
            "tries": {name: tell(action) for name, action in TRIES.items()},
            "found": in_files + processes(),
            "named": named,
            "docker": docker,
            "devices": [
                name for name in os.listdir("/dev") if stat.S_ISBLK(os.lstat(f"/dev/{name}").st_mode)
            ],
            "setuid": setuid,
            "reached": reached,
            "server": connect(("mimic", 8000)),
            "resolved": {name: resolve(name) for name in FACTS["resolve"]},
            "forwarded": forwarded(),
            "ipv6": lines("/proc/net/if_inet6"),
            "status": dict(line.split(":\t", 1) for line in lines("/proc/self/status") if ":\t" in line),
            "mounts": [line.split()[:4] for line in lines("/proc/self/mounts")],
        }
    )
)
