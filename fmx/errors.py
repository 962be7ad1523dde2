"""What can go wrong, as types; cli/main.py turns them into exit codes, once."""

from contextlib import contextmanager

CUDA_EXTRA = "'fmx-mapper[cuda]', or 'fmx-mapper[cuda12]' for a driver of CUDA 12"


class FmxError(Exception):
    """An error that a person can mend: one line saying what, where and what to do."""


class InputError(FmxError):
    """Bad data: names the file and the record or line."""

    def __init__(self, path, where: str, what: str):
        self.path, self.where, self.what = str(path), where, what
        super().__init__(f"{path}: {where}: {what}" if where else f"{path}: {what}")

    def __reduce__(self):
        return InputError, (self.path, self.where, self.what)


class IndexFileError(FmxError):
    """An index that is missing, damaged, of another version or incomplete."""


class UnsupportedError(FmxError):
    """A combination of layout, engine and query that does not exist."""


class OutputError(FmxError):
    """The result could not be written."""


class DeviceError(FmxError):
    """A GPU that is not there, does not answer, or lacks memory or a package: says what to install or do."""


class ClusterError(FmxError):
    """A cluster that does not answer, has no workers, or workers that are not like this machine."""


class LostDeviceError(DeviceError):
    """A GPU that does not answer any more: what was held there is gone, and cannot be freed either."""


@contextmanager
def named_input(path):
    """Around the reading of an input: errors of the system become InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(path, "", error.strerror or str(error)) from error


def shown(text: str) -> str:
    """A text as one line of a message: what is no character that can be seen is escaped.

    That is control characters, line ends, marks of direction and of no width, and bytes that are no UTF-8.
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def n_of(n: int, one: str, many: str = "") -> str:
    """n things in words: ``1 read``, ``2,000 reads``; ``many`` where it is not ``one`` with an s."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _seen(letter) -> str:
    if letter.isprintable():
        return letter
    byte = ord(letter) - 0xDC00  # as Python holds a byte of a file's name that is no UTF-8
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else letter.encode("unicode_escape").decode()


@contextmanager
def installed(package, to_install, kind: type[FmxError] = DeviceError):
    """Around imports of what fmx can do without: where they fail, ``kind`` says what pip is to install."""
    try:
        yield
    except Exception as error:  # a package that is broken, or of another version, may raise anything
        said = (str(error).splitlines() or [""])[0]
        raise kind(
            f"{package} cannot be used ({type(error).__name__}: {said}): pip install {to_install}"
        ) from error
