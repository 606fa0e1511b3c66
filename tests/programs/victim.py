"""A tenant's program with something to hide, everywhere where a program can leave something.

    victim.py NAME

Leaves NAME in /tmp, /dev/shm and its work directory, in System V shared memory and in a key, writes what others
need to look for it to its log, and sleeps.
"""

import ctypes
import json
import os
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_ADD_KEY = 248
USER_KEYRING = -4
SHM_KEY = 0x7A6E

name = sys.argv[1]
for place in ("/tmp", "/dev/shm", "."):
    with open(f"{place}/{name}", "w", encoding="utf-8") as file:
        file.write("secret")
    os.chmod(f"{place}/{name}", 0o666)
os.chmod(".", 0o777)
shared = LIBC.shmget(SHM_KEY, 4096, 0o1666)
key = LIBC.syscall(SYS_ADD_KEY, b"user", name.encode(), b"secret", 6, USER_KEYRING)
print(json.dumps({"secret": "secret", "shm_key": SHM_KEY, "shm": shared, "key": key}), flush=True)
time.sleep(600)
