"""Damage to an index folder: to its bytes, to meta.json, to its arrays; and checksums made right again."""

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
    "uint8",
    "int8",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "bool",
    ">u4",
    "U3",
]


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
    places = list(_places(value))
    path = rng.choice(places[1:] or places)
    way = rng.choice(["junk", "number", "delete", "double", "rename", "deep"])
    return _changed(value, path, lambda old: _new(rng, way, old), way), f"{way} {'/'.join(map(str, path))}"


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*path, key))


def _changed(value, path, new, way):
    if not path:
        return new(value)
    key, *rest = path
    if isinstance(value, list):
        inner = value[key]
        if way == "delete" and not rest:
            return value[:key] + value[key + 1 :]
        if way == "double" and not rest:
            return value[: key + 1] + value[key:]
        return [*value[:key], _changed(inner, rest, new, way), *value[key + 1 :]]
    if way == "delete" and not rest:
        return {k: v for k, v in value.items() if k != key}
    if way == "rename" and not rest:
        return {(f"{k}x" if k == key else k): v for k, v in value.items()}
    return {**value, key: _changed(value[key], rest, new, way)}


def _new(rng, way, old):
    if way == "number" and isinstance(old, int):
        return rng.choice([old + 1, old - 1, old * 2, -old, *NUMBERS])
    if way == "deep":
        deep: list = []
        for _ in range(rng.choice([10, 900])):
            deep = [deep]
        return deep
    return rng.choice(JUNK)


def change_array(rng, array):
    """(an array with something about it changed, what)."""
    way = rng.choice(ARRAYS)
    with np.errstate(all="ignore"):
        return way(rng, array), way.__name__


def one_value(rng, array):
    flat = array.reshape(-1).copy()
    if flat.size and flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        i = rng.choice([0, flat.size - 1, rng.randrange(flat.size)])
        old = int(flat[i])
        new = rng.choice(
            [0, 1, limits.max, limits.min, limits.max // 2, old + 1, old - 1, old * 2, rng.randrange(1000)]
        )
        flat[i] = min(max(new, limits.min), limits.max)
    return flat.reshape(array.shape)


def all_values(rng, array):
    return np.full_like(array, rng.choice([0, 1, 255 if array.dtype.itemsize == 1 else 2**31 - 1]))


def shuffled(rng, array):
    flat = array.reshape(-1).tolist()
    rng.shuffle(flat)
    return np.array(flat, array.dtype).reshape(array.shape)


def turned(rng, array):
    return np.ascontiguousarray(array[::-1])


def random_values(rng, array):
    return np.frombuffer(rng.randbytes(array.nbytes), array.dtype).reshape(array.shape).copy()


def shorter(rng, array):
    return array[: rng.randrange(array.shape[0] + 1)] if array.ndim else array


def longer(rng, array):
    return np.concatenate([array, array[: rng.randrange(1, 9)]]) if array.ndim else array


def empty(rng, array):
    return array[:0] if array.ndim else array


def another_type(rng, array):
    return array.astype(rng.choice(TYPES))


def another_shape(rng, array):
    shapes = [(-1, 1), (1, -1), (array.size, 1, 1)] + (
        [(2, -1)] if array.size % 2 == 0 and array.size else []
    )
    return array.reshape(rng.choice(shapes)) if array.size else array.reshape(0, 3)


def columns_first(rng, array):
    return np.asfortranarray(array.reshape(-1, 2)) if array.size % 2 == 0 and array.size else array


ARRAYS = [
    one_value, one_value, one_value, all_values, shuffled, turned, random_values, shorter, longer, empty,
    another_type, another_shape, columns_first,
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
    """(files of an index after some harm with right checksums, what, whether opening it trusts what was
    harmed: the entries of a layout, and marks)."""
    if rng.random() < 0.4:
        name = f"{index}/{META}"
        meta, what = change_json(rng, json.loads(files[name]))
        return {**files, name: meta_bytes(meta)}, f"{META}: {what}", False
    name = rng.choice([key for key in sorted(files) if key.endswith(".npy")])
    array, what = change_array(rng, read_array(files[name]))
    own = name.rpartition("/")[2].removesuffix(".npy")
    is_trusted = own == "sa_marks" or ("." in own and not own.startswith("lcp."))
    return sealed({**files, name: npy(array)}, index), f"{name}: {what}", is_trusted
