"""Small forms of output and input that several test files need."""

import struct
import sys
import zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd
__all__ = ["bgzf", "without_program", "zstd"]


def without_program(data: bytes) -> bytes:
    """SAM without the @PG line, which holds the command and the version."""
    return b"".join(line for line in data.splitlines(keepends=True) if not line.startswith(b"@PG\t"))


def bgzf(data: bytes, size: int = 1000) -> bytes:
    """Data as BGZF blocks of ``size`` bytes with the end marker, by the SAM specification, section 4.1."""
    blocks = []
    for start in [*range(0, len(data), size), len(data)]:
        piece = data[start : start + size]
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = packer.compress(piece) + packer.flush()
        blocks.append(struct.pack("<4BI2BH2B2H", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25))
        blocks.append(body + struct.pack("<2I", zlib.crc32(piece), len(piece)))
    return b"".join(blocks)
