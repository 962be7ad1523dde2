"""fmx inspect: the contents of an index."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import click

from ...errors import n_of, shown
from .. import options
from ..options import find_indexes


@options.command
@click.argument("arguments", metavar="[INDEX]...", nargs=-1)
@click.option("-x", "--index", "index_paths", type=click.Path(), multiple=True, help="Same as INDEX.")
@click.option("--verify", is_flag=True, help="Verify every checksum and all values.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON; a list if there are several indexes.")
@options.threads
def command(args: SimpleNamespace) -> None:
    """Show the contents of indexes: contigs, layouts and sizes.

    Without INDEX, fmx inspect uses $FMX_INDEX, else the only .fmx folder in the current folder.

    Examples:
    fmx inspect ref.fmx
    fmx inspect --verify ref.fmx
    fmx inspect --json ref.fmx
    """
    from ...index.disk import retrying

    paths = find_indexes((*args.arguments, *args.index_paths))
    contents = [retrying(inspect)(path, args.verify, args.threads) for path in paths]
    if args.as_json:
        whole = [each | ({"verified": True} if args.verify else {}) for each in contents]
        click.echo(json.dumps(whole if whole[1:] else whole[0], indent=1))
        return
    verified = ["", "  all checksums match"] if args.verify else []
    click.echo("\n\n".join("\n".join(map(shown, [*_lines(each), *verified])) for each in contents))


def inspect(path: str | Path, verify: bool = False, n_threads: int = 1) -> dict:
    """meta.json of an index with the size of each part; ``verify``: check every array.

    ``search``: the method that would be used now, the reason, and the bytes that each method reads;
    ``layout_sizes``: for each layout (bytes per symbol, bytes per symbol predicted by its paper's formula).
    """
    from ...index import layouts, plan
    from ...index.disk import array_sizes, part_sizes, read_checked, read_meta
    from ...index.sparse import parse_sparse

    meta = read_meta(path)
    if verify:
        from ...index.fm_index import reference_of

        reference_of(path, meta, read_checked(path, meta, list(meta["arrays"]), n_threads, verify=True))
    names = [meta["sparse"], *meta["layouts"]] if "sparse" in meta else meta["layouts"]
    n_text, arrays, sizes = meta["n_text"], array_sizes(meta), {}
    for name in names:
        layout = parse_sparse(name) or layouts.parse_name(name)
        size = sum(n for key, n in arrays.items() if key.startswith(f"{name}."))
        formula = sum(layout.bytes_per_symbol(n) * n for n in part_sizes(meta))
        sizes[name] = size / n_text, formula / n_text
    total = sum(array["bytes"] for array in meta["arrays"].values())
    method, reason = plan.choose_way(meta)
    search = {"way": method, "reason": reason, "bytes": plan.ways_to_search(meta)}
    return {**meta, "path": str(path), "bytes": total, "layout_sizes": sizes, "search": search}


def _lines(meta: dict) -> Iterator[str]:
    """The result of inspect as lines of text."""
    yield f"{meta['path']}: fmx index, format {meta['format']}, written by fmx {meta['fmx_version']}"
    yield f"  contigs        {meta['n_contigs']:,} ({n_of(meta['n_bases'], 'base')})"
    if "n_groups" in meta:
        yield f"  groups         {meta['n_groups']:,}"
    bases, blocks = n_of(meta["n_text"] - meta["n_blocks"], "base"), n_of(meta["n_blocks"], "block")
    symbols = n_of(meta["n_text"], "symbol")
    yield f"  indexed        {bases} (A, C, G and T) in {blocks}; {symbols}, counting one separator per block"
    if sizes := meta.get("parts"):
        symbols = ", ".join(f"{n:,}" for n in sizes)
        yield f"  parts          {len(sizes)} ({symbols} symbols)"
    for i, (name, (size, _)) in enumerate(meta["layout_sizes"].items()):
        yield f"  {'' if i else 'layouts':<14} {name:<20} {size:.3f} bytes per symbol"
    if (sa_rate := meta["sa_rate"]) > 0:
        lcp = any(name.endswith("lcp.rank") for name in meta["arrays"])
        whole = "whole" if sa_rate == 1 else f"one in {sa_rate} positions"
        yield f"  suffix array   {whole}{', with LCP array and rank array' * lcp}"
        yield f"  prefix table   strings of up to {n_of(meta['prefix_length'], 'symbol')}"
    from ...index.sparse import parse_sparse

    way = meta["search"]["way"]
    method = "seed and verify" if way == "verify" else f"backward search over {way}"
    if sparse := parse_sparse(way):
        method = f"{way}, reads of {sparse.shortest} bases or more"
    yield f"  search         {method}: {meta['search']['reason']}"
    yield f"  size           {meta['bytes']:,} bytes, {meta['bytes'] / meta['n_text']:.2f} per symbol"
    yield ""
    yield f"  {'array':<28} {'type':<8} {'shape':<14} {'bytes':>14}"
    for name, array in meta["arrays"].items():
        shape = " x ".join(str(n) for n in array["shape"])
        yield f"  {name:<28} {array['dtype']:<8} {shape:<14} {array['bytes']:>14,}"
