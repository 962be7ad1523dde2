"""A regular file that several threads read, each where it likes."""

import os

from ..errors import InputError, named_input


class RegularFile:
    """An open file of ``size`` bytes, as it was when it was opened; closed when nobody holds it.

    ``descriptor``: of its own, to be read from at offsets.
    """

    def __init__(self, path, descriptor):
        self.path, self.descriptor = path, os.dup(descriptor)
        self.size = os.fstat(descriptor).st_size

    def __del__(self):
        os.close(self.descriptor)

    def read(self, view, offset) -> int:
        """Fill ``view`` with bytes from an offset on; fewer at the end.  Raises InputError."""
        want, done = max(0, min(len(view), self.size - offset)), 0
        with named_input(self.path):
            while done < want:
                n = os.preadv(self.descriptor, [view[done:want]], offset + done)
                if n == 0:
                    raise InputError(self.path, "", "became shorter while it was read; start again")
                done += n
        return done

    def bytes(self, n, offset) -> bytes:
        """n bytes from an offset on; fewer at the end."""
        found = bytearray(max(0, min(n, self.size - offset)))
        self.read(memoryview(found), offset)
        return bytes(found)


class Plain:
    """The bytes of a plain file from an offset on."""

    def __init__(self, file, offset):
        self._file, self._offset = file, offset

    def readinto(self, view) -> int:
        """Fill ``view``, as far as the file goes.  Raises InputError."""
        n = self._file.read(view, self._offset)
        self._offset += n
        return n
