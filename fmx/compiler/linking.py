"""How the pieces of a function become its machine code: linked once, and optimised once, as a whole.

By itself numba optimises each piece, links it into each that calls it, optimises these again, and makes
machine code of every one, which nobody calls: half the time that LLVM takes.
"""

from contextlib import contextmanager

from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target


class _Part(JITCodeLibrary):
    """The code of a piece, or of a whole function, as numba lowers it; nothing is made of it by itself."""

    def add_llvm_module(self, ll_module):
        """Take a module as it is."""
        self._final_module.link_in(ll_module)

    def finalize(self):
        """Nothing can be added any more."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """There is none."""
        self._ensure_finalized()
        return 0


@contextmanager
def parts():
    """What numba compiles meanwhile becomes parts, for ``whole``."""
    codegen = cpu_target.target_context.codegen()
    codegen._library_class, codegen.set_env = _Part, lambda name, environment: None
    try:
        yield
    finally:
        del codegen._library_class, codegen.set_env  # the class has its own


def whole(part) -> bytes:
    """The machine code, an object file, of a function and all that it calls.

    Raises TypeError if it refers to an address of this process.
    """
    module, linked, waiting = part._final_module, {part}, [part]
    while waiting:
        for library in waiting.pop()._linking_libraries:
            if library not in linked:
                linked.add(library)
                waiting.append(library)
                module.link_in(library._get_module_for_linking(), preserve=True)
    part._optimize_functions(module)
    part._optimize_final_module()
    part._finalize_dynamic_globals()
    if part.has_dynamic_globals:
        raise TypeError(f"{part.name} refers to an address of this process")
    part._verify_declare_only_symbols()
    module.verify()
    return part.codegen._tm.emit_object(module)
