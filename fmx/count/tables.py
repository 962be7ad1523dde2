"""What was counted as tables: MAGeCK's, a line a guide and sample, Parquet."""

import io

import numpy as np

from ..errors import OutputError, installed

KINDS = ("mageck", "long", "parquet")


def table(kind, library, names, counts) -> bytes:
    """Counts int64[n_samples, n_guides] of samples with these ``names``, as one of KINDS."""
    return {"mageck": _mageck, "long": _long, "parquet": _parquet}[kind](library, names, counts)


def _mageck(library, names, counts) -> bytes:
    """A line a guide, a column a sample."""
    lines = ["\t".join(["sgRNA", "Gene", *names])]
    columns = [list(map(str, row)) for row in counts.tolist()]
    lines += map("\t".join, zip(library.ids, library.genes, *columns, strict=True))
    return ("\n".join(lines) + "\n").encode()


def _long(library, names, counts) -> bytes:
    """A line for each guide of each sample."""
    lines = ["sample\tsgRNA\tGene\tcount"]
    for name, row in zip(names, counts.tolist(), strict=True):
        lines += [
            f"{name}\t{guide}\t{gene}\t{n}"
            for guide, gene, n in zip(library.ids, library.genes, row, strict=True)
        ]
    return ("\n".join(lines) + "\n").encode()


def _parquet(library, names, counts) -> bytes:
    """The columns of ``_mageck``."""
    with installed("pyarrow", "'fmx-mapper[parquet]'", OutputError):
        import pyarrow
        from pyarrow import parquet
    columns = {"sgRNA": library.ids, "Gene": library.genes}
    columns |= {name: np.asarray(row) for name, row in zip(names, counts, strict=True)}
    into = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), into, compression="zstd")
    return into.getvalue()
