"""Which file systems tell of every change to a file."""

import ctypes
import os
import sys

# f_type of statfs(2).  Not here: those whose ctime somebody else may set, as with CIFS, FUSE, 9p, vfat.
_TELLING = {
    0xEF53: "ext", 0x58465342: "xfs", 0x9123683E: "btrfs", 0xF2F52010: "f2fs", 0xCA451A4E: "bcachefs",
    0x2FC12FC1: "zfs", 0x01021994: "tmpfs", 0x858458F6: "ramfs", 0x794C7630: "overlayfs", 0x6969: "nfs",
    0x00C36400: "ceph", 0x0BD00BD0: "lustre", 0x47504653: "gpfs",
}  # fmt: skip


def tells_changes(file: int) -> bool:
    """Whether any write to the file of this descriptor moves its ctime, which nobody but the kernel sets."""
    if sys.platform != "linux":
        return False
    state = ctypes.create_string_buffer(512)  # a struct statfs begins with f_type, a long
    failed = ctypes.CDLL(None, use_errno=True).fstatfs(file, state)
    kind = ctypes.c_long.from_buffer(state).value & 0xFFFFFFFF
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return kind in _TELLING
