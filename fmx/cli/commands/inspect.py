"""fmx inspect: the contents of an index."""

import json
from collections.abc import Iterator
from types import SimpleNamespace

import click

from ... import options
from ...errors import n_of, shown
from ...options import find_indexes


@options.command
@click.argument("arguments", metavar="[INDEX]...", nargs=-1)
@click.option("-x", "--index", "index_paths", type=click.Path(), multiple=True, help="Same as INDEX.")
@click.option("--verify", is_flag=True, help="Verify every checksum, and that the arrays are consistent.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON; a list if there are several indexes.")
@options.threads
def command(given: SimpleNamespace) -> None:
    """Show the contents of indexes: contigs, layouts and sizes.

    Without INDEX, fmx inspect uses $FMX_INDEX, else the only .fmx folder in the current folder.

    Examples:
    fmx inspect ref.fmx
    fmx inspect --verify ref.fmx
    fmx inspect --json ref.fmx
    """
    from ... import workflow

    paths = find_indexes((*given.arguments, *given.index_paths))
    found = [workflow.inspect(path, given.verify, given.threads) for path in paths]
    if given.as_json:
        whole = [each | ({"verified": True} if given.verify else {}) for each in found]
        click.echo(json.dumps(whole if whole[1:] else whole[0], indent=1))
        return
    verified = ["", "  all checksums match, and the arrays are consistent"] if given.verify else []
    click.echo("\n\n".join("\n".join(map(shown, [*_lines(each), *verified])) for each in found))


def _lines(found: dict) -> Iterator[str]:
    """The result of workflow.inspect as lines of text."""
    yield f"{found['path']}: fmx index, format {found['format']}, written by fmx {found['fmx_version']}"
    yield f"  contigs        {found['n_contigs']:,} ({n_of(found['n_bases'], 'base')})"
    if "n_groups" in found:
        yield f"  groups         {found['n_groups']:,}"
    bases, blocks = n_of(found["n_text"] - found["n_blocks"], "base"), n_of(found["n_blocks"], "block")
    symbols = n_of(found["n_text"], "symbol")
    yield f"  indexed        {bases} (A, C, G and T) in {blocks}; {symbols}, counting one separator per block"
    if sizes := found.get("parts"):
        symbols = ", ".join(f"{n:,}" for n in sizes)
        yield f"  parts          {len(sizes)} ({symbols} symbols)"
    for i, (name, (size, _)) in enumerate(found["layout_sizes"].items()):
        title = "layouts" if i == 0 else ""
        yield f"  {title:<14} {name:<20} {size:.3f} bytes per symbol"
    if found["sa_rate"] > 0:
        yield from _suffix_array_lines(found)
    way = found["search"]["way"]
    yield f"  search         {_way(way)}: {found['search']['reason']}"
    yield f"  size           {found['bytes']:,} bytes, {found['bytes'] / found['n_text']:.2f} per symbol"
    yield ""
    yield f"  {'array':<28} {'type':<8} {'shape':<14} {'bytes':>14}"
    for name, array in found["arrays"].items():
        shape = " x ".join(str(n) for n in array["shape"])
        yield f"  {name:<28} {array['dtype']:<8} {shape:<14} {array['bytes']:>14,}"


def _way(way: str) -> str:
    """Return the name of a search method."""
    if way == "verify":
        return "seed and verify"
    from ...index.layouts import parse_sparse

    sparse = parse_sparse(way)
    return f"{way}, reads of {sparse.shortest} bases or more" if sparse else f"backward search over {way}"


def _suffix_array_lines(found: dict) -> Iterator[str]:
    """Lines about the suffix array and the prefix table."""
    sa = "whole" if found["sa_rate"] == 1 else f"one in {found['sa_rate']} positions"
    if any(name.endswith("lcp.rank") for name in found["arrays"]):
        sa += ", with LCP array and rank array"
    yield f"  suffix array   {sa}"
    yield f"  prefix table   strings of up to {n_of(found['prefix_length'], 'symbol')}"
