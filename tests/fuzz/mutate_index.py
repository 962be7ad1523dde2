"""Damage to an index folder: to its bytes, to meta.json, to its arrays; and checksums made right again."""

import functools
import io
import json

import numpy as np
import xxhash

from . import mutate

META = "meta.json"
NUMBERS = [-1, 0, 1, 2, 3, 7, 255, 256, 4096, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, -(2**63)]
JUNK = [
    None, True, "", "x", "a\nb\x1b[2J", "é\udcff", [], {}, [[]], {"a": 1}, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), 10**30, 2**63, 2**64, *NUMBERS,
]  # fmt: skip
TYPES = [
    "uint8", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "bool", ">u4",
    "U3",
]  # fmt: skip


def read_array(data: bytes):
    return np.load(io.BytesIO(data), allow_pickle=False)


def npy(array) -> bytes:
    """An array as the bytes of a .npy file."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def sealed(files: dict, index: str, tell_arrays=True) -> dict:
    """The files of an index with every checksum made right, by docs/formats.md; ``tell_arrays``: meta.json
    also tells the type and shape that each array has now."""
    meta = json.loads(files[f"{index}/{META}"])
    arrays = meta.get("arrays")
    for name, entry in arrays.items() if isinstance(arrays, dict) and tell_arrays else ():
        try:
            array = read_array(files[f"{index}/{name}.npy"])
        except (KeyError, ValueError, EOFError, OSError):
            continue
        if isinstance(entry, dict):
            data = np.ascontiguousarray(array).tobytes()
            entry.update(dtype=str(array.dtype), shape=list(array.shape), bytes=array.nbytes)
            entry["checksums"] = [xxhash.xxh3_64_hexdigest(data)]
    return {**files, f"{index}/{META}": meta_bytes(meta)}


def meta_bytes(meta) -> bytes:
    """meta.json with its own checksum made right."""
    if isinstance(meta, dict) and "checksum" in meta:
        body = {key: value for key, value in meta.items() if key != "checksum"}
        meta = {**meta, "checksum": xxhash.xxh3_64_hexdigest(json.dumps(body, sort_keys=True).encode())}
    return (json.dumps(meta, indent=1) + "\n").encode()


def change_json(rng, value):
    """(a value with one thing in it changed, what)."""
    value = json.loads(json.dumps(value))
    holder, key, path = rng.choice(list(_places(value)))
    way, old = rng.choice(["junk", "number", "delete", "double", "rename", "deep"]), holder[key]
    if way == "delete":
        del holder[key]
    elif way == "double" and isinstance(holder, list):
        holder.insert(key, old)
    elif way == "rename" and isinstance(holder, dict):
        holder[f"{key}x"] = holder.pop(key)
    elif way == "number" and isinstance(old, int):
        holder[key] = rng.choice([old + 1, old - 1, old * 2, -old, *NUMBERS])
    elif way == "deep":
        holder[key] = functools.reduce(lambda deep, _: [deep], range(rng.choice([10, 900])), [])
    else:
        holder[key] = rng.choice(JUNK)
    return value, f"{way} {'/'.join(map(str, path))}"


def _places(value, path=()):
    """(list or dict, key, path of it) of all that is in a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key, (*path, key)
        yield from _places(inner, (*path, key))


def change_array(rng, array):
    """(an array with something about it changed, what)."""
    name, change = rng.choice(ARRAYS)
    with np.errstate(all="ignore"):
        return change(rng, array) if array.ndim else array, name


def one_value(rng, array):
    flat = array.reshape(-1).copy()
    if flat.size and flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        i = rng.choice([0, flat.size - 1, rng.randrange(flat.size)])
        old = int(flat[i])
        values = [0, 1, limits.max, limits.min, limits.max // 2, old + 1, old - 1, old * 2]
        flat[i] = min(max(rng.choice([*values, rng.randrange(1000)]), limits.min), limits.max)
    return flat.reshape(array.shape)


def random_values(rng, array):
    return np.frombuffer(rng.randbytes(array.nbytes), array.dtype).reshape(array.shape).copy()


def another_shape(rng, array):
    halves = [(2, -1)] if array.size % 2 == 0 and array.size else []
    shape = rng.choice([(-1, 1), (1, -1), (array.size, 1, 1), *halves])
    return array.reshape(shape) if array.size else array.reshape(0, 3)


ARRAYS = [  # changes of an array of one dimension or more
    *[("one value", one_value)] * 3,
    ("all values", lambda rng, x: np.full_like(x, rng.choice([0, 1, 127]))),
    ("shuffled", lambda rng, x: x.reshape(-1)[rng.sample(range(x.size), x.size)].reshape(x.shape)),
    ("turned", lambda rng, x: np.ascontiguousarray(x[::-1])),
    ("random values", random_values),
    ("shorter", lambda rng, x: x[: rng.randrange(x.shape[0] + 1)]),
    ("longer", lambda rng, x: np.concatenate([x, x[: rng.randrange(1, 9)]])),
    ("empty", lambda rng, x: x[:0]),
    ("another type", lambda rng, x: x.astype(rng.choice(TYPES))),
    ("another shape", another_shape),
    ("columns first", lambda rng, x: np.asfortranarray(x.reshape(-1, 2)) if x.size and not x.size % 2 else x),
]  # fmt: skip


def damaged(rng, files: dict) -> tuple:
    """(files of an index after some harm without a checksum made right, what)."""
    name = rng.choice(sorted(files))
    way = rng.choice(["bytes", "bytes", "bytes", "gone", "swapped", "more", "json"])
    if way == "gone":
        return {key: data for key, data in files.items() if key != name}, f"{name} gone"
    if way == "swapped":
        other = rng.choice(sorted(files))
        return {**files, name: files[other], other: files[name]}, f"{name} and {other} swapped"
    if way == "more":
        return {**files, f"{name}.old": b"junk"}, f"{name}.old added"
    if way == "json":
        name = next(key for key in files if key.endswith(META))
        meta, what = change_json(rng, json.loads(files[name]))
        return {**files, name: (json.dumps(meta) + "\n").encode()}, f"{META}: {what}, checksum left"
    data, what = mutate.mutated(rng, files[name], mutate.BYTES)
    return {**files, name: data}, f"{name}: {what}"


def hostile(rng, files: dict, index: str) -> tuple:
    """(files of an index after some harm with right checksums, what)."""
    if rng.random() < 0.4:
        name = f"{index}/{META}"
        meta, what = change_json(rng, json.loads(files[name]))
        return {**files, name: meta_bytes(meta)}, f"{META}: {what}"
    name = rng.choice([key for key in sorted(files) if key.endswith(".npy")])
    array, what = change_array(rng, read_array(files[name]))
    return sealed({**files, name: npy(array)}, index), f"{name}: {what}"
