"""fmx inspect: what is in an index."""

import json

import click

from .. import options


@click.command()
@click.argument("index_path", metavar="[INDEX]", required=False)
@click.option("--verify", is_flag=True, help="Check every checksum.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@options.threads
def command(index_path, verify, as_json, threads):
    """Show what is in an index: contigs, layouts, parameters, sizes."""
    from .. import workflow

    found = workflow.inspect(options.find_index(index_path), verify, threads)
    if as_json:
        click.echo(json.dumps(found | ({"verified": True} if verify else {}), indent=1))
        return
    click.echo(f"{found['path']}: fmx index, format {found['format']}, written by fmx {found['fmx_version']}")
    click.echo(f"  contigs        {found['n_contigs']:,} of {found['n_bases']:,} bases")
    click.echo(f"  text           {found['n_text']:,} symbols in {found['n_blocks']:,} blocks of A, C, G, T")
    if sizes := found.get("parts"):
        shown = ", ".join(f"{n:,}" for n in sizes)
        click.echo(f"  parts          {len(sizes)} of {shown} symbols")
    for i, (name, (size, formula)) in enumerate(found["layout_sizes"].items()):
        title = "layouts" if i == 0 else ""
        click.echo(f"  {title:<14} {name:<20} {size:.3f} bytes a symbol (its formula: {formula:.3f})")
    sa = "whole" if found["sa_rate"] == 1 else f"every {found['sa_rate']}th position"
    if any(name.endswith("lcp.rank") for name in found["arrays"]):
        sa += ", its LCP array and rank array"
    click.echo(f"  suffix array   {sa}")
    click.echo(f"  prefix table   strings of up to {found['prefix_length']} symbols")
    way = found["search"]["way"]
    way = "seed and verify" if way == "verify" else f"backward search over {way}"
    click.echo(f"  search         by {way}: {found['search']['reason']}")
    click.echo(
        f"  size           {found['bytes']:,} bytes, {found['bytes'] / found['n_text']:.2f} a symbol\n"
    )
    click.echo(f"  {'array':<28} {'type':<8} {'shape':<14} {'bytes':>14}")
    for name, array in found["arrays"].items():
        shape = " x ".join(str(n) for n in array["shape"])
        click.echo(f"  {name:<28} {array['dtype']:<8} {shape:<14} {array['bytes']:>14,}")
    if verify:
        click.echo("\n  every checksum is right")
