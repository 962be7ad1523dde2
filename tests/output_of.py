"""Small forms of output and input that several test files need."""

import struct
import sys
import zlib

import pysam

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd
__all__ = ["bgzf", "records_in", "without_program", "zstd"]


def without_program(data: bytes) -> bytes:
    """SAM without the @PG line, which holds the command and the version."""
    return b"".join(line for line in data.splitlines(keepends=True) if not line.startswith(b"@PG\t"))


def records_in(path, region=None) -> list:
    """The lines of SAM, BAM or CRAM, all or those of a region, as htslib reads them: lists of columns."""
    with pysam.AlignmentFile(path, check_sq=False) as file:
        found = file.fetch(region=region) if region else file.fetch(until_eof=True)
        return [record.to_string().split("\t") for record in found]


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
