"""The way to a piece of compiled code that is made of LLVM's instructions."""

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.cpu import CPUContext
from numba.extending import intrinsic


def instruction(signature, touches=None):
    """Make ``emit(builder, *values)`` a piece of compiled code, for the CPU and in kernels.

    ``signature(*types)`` is numba's, of the types of its arguments.  Of an array ``emit`` gets the pointer to
    its elements.  What it returns is the result, None where there is none.  ``touches(builder, *values)``:
    the elements that it reads or writes, as (number of the array's argument, first one, how many).
    """

    def make(emit):
        @functools.wraps(emit)  # its names of arguments, too
        def definition(typing, *kinds):
            def generate(context, builder, signature, arguments):
                views = [
                    cgutils.create_struct_proxy(kind)(context, builder, value)
                    if isinstance(kind, types.Array)
                    else None
                    for kind, value in zip(signature.args, arguments, strict=True)
                ]
                values = [view.data if view else x for view, x in zip(views, arguments, strict=True)]
                if touches and isinstance(context, CPUContext) and context.enable_boundscheck:
                    for number, first, n in touches(builder, *values):
                        _check_span(context, builder, views[number].nitems, first, n)
                result = emit(builder, *values)
                return context.get_dummy_value() if result is None else result

            return signature(*kinds), generate

        return intrinsic(definition)

    return make


def _check_span(context, builder, size, first, n):
    """Raise IndexError unless there are n elements from ``first`` on, or n is 0."""
    zero = first.type(0)
    n = first.type(n) if isinstance(n, int) else n
    outside = builder.or_(
        builder.icmp_signed("<", first, zero), builder.icmp_unsigned(">", builder.add(first, n), size)
    )
    with cgutils.if_unlikely(builder, builder.and_(builder.icmp_signed("!=", n, zero), outside)):
        context.call_conv.return_user_exc(builder, IndexError, ("a span is out of bounds",))


def call(builder, name, result, *arguments):
    """Call a function of LLVM or of libc, by its name and the type of its result."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)
