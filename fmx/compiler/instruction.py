"""The way to a piece of compiled code that is made of LLVM's instructions."""

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def instruction(signature):
    """Make ``emit(builder, *values)`` a piece of compiled code, for the CPU and in kernels.

    ``signature(*types)`` is numba's, of the types of its arguments.  Of an array ``emit`` gets the pointer to
    its elements.  What it returns is the result, None where there is none.
    """

    def make(emit):
        @functools.wraps(emit)  # its names of arguments, too
        def definition(typing, *kinds):
            def generate(context, builder, signature, arguments):
                values = [
                    cgutils.create_struct_proxy(kind)(context, builder, value).data
                    if isinstance(kind, types.Array)
                    else value
                    for kind, value in zip(signature.args, arguments, strict=True)
                ]
                result = emit(builder, *values)
                return context.get_dummy_value() if result is None else result

            return signature(*kinds), generate

        return intrinsic(definition)

    return make


def call(builder, name, result, *arguments):
    """Call a function of LLVM or of libc, by its name and the type of its result."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)
