"""Pieces: functions that compiled code calls, in whichever compiler."""

import functools
import os


def _is_set(name) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


SIMULATED = _is_set("NUMBA_ENABLE_CUDASIM")  # kernels run in numba's simulator of CUDA
DISABLED = _is_set("NUMBA_DISABLE_JIT")  # plain Python, as in the CUDA simulator
CHECKED = _is_set("NUMBA_BOUNDSCHECK")  # compiled code raises IndexError for an index outside of its array


class Piece:
    """A function that compiled code calls.  Python that calls it runs it as it is written."""

    def __init__(self, function, make):
        """``make()`` gives what stands for it in numba."""
        self.function, self._make = function, make
        functools.update_wrapper(self, function)

    def __call__(self, *arguments):
        return self.function(*arguments)

    @property
    def way(self) -> str:
        """How it is compiled: by which decorator, with what it was given."""
        given = [cell.cell_contents for cell in self._make.__closure__ or ()]
        return f"{self._make.__qualname__} {[value for value in given if isinstance(value, str | bool)]}"

    @functools.cached_property
    def made(self):
        """What stands for it in numba: a dispatcher, an intrinsic, or a function with an overload."""
        return self._make()

    @functools.cache  # noqa: B019  (pieces are as many as there are functions, and stay)
    def type_in(self, typing_context):
        """The type that a compiler, numba's for the CPU or that for GPUs, gives it."""
        made = self.made
        typing_context.refresh()  # it may be new
        return typing_context.resolve_value_type(made)
