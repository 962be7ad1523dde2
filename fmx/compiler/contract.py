"""Contracts: functions whose body is chosen by the type of their first argument."""

import functools
import sys
from collections import namedtuple

from .functions import compiler
from .piece import Piece


def by_type(contract, default=None):
    """Turn a contract into a function whose body is chosen by the type of its first argument.

    ``@contract.register(Type)`` adds the body for a NamedTuple type.  Compiled code binds it at compile
    time; plain Python looks it up by ``type(first)``.  A type without a body gets ``default``, if any.
    """
    bodies: dict = {}

    def dispatch(first, *rest):
        return (bodies.get(type(first)) or default or bodies[type(first)])(first, *rest)

    def register(cls):
        def add(body):
            bodies[cls] = body
            return body

        return add

    chosen = functools.wraps(contract)(dispatch)
    made = Piece(chosen, lambda: compiler().choice(dispatch, bodies, default))
    made.register, made.bodies, made.default = register, bodies, default
    made.knows = lambda first: type(first) in bodies
    return made


def by_type_or_this(contract):
    """A contract whose own body serves every type that registers none."""
    return by_type(contract, contract)


def static_type(name, fields, module):
    """A NamedTuple type for bodies of its own, one of many that differ by constants of compiled code.

    Kept machine code finds its types by their names in modules, so it becomes one of ``module``.
    """
    cls = namedtuple(name, fields, module=module)
    setattr(sys.modules[module], name, cls)
    return cls
