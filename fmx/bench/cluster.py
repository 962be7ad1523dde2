"""fmx bench cluster: how far a job scales over machines, by simulation over measured rates.

Figures 15 and 16 of the paper (Truong et al. 2014, section 6.8) are simulated beside: unlike nodes that pull
work, four of them and six.
"""

import click

from .. import options
from .kit.options import count, output

NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
READS = (10**9, 10**10, 10**11, 10**12, 10**13)
SIZES = tuple(10**6 * 4**i for i in range(7))  # reads of a shard: 10^6 to 4 * 10^9
PAPER = {  # pairs/s of nodes with CPUs and GPUs: sections 6.2, 6.7 and 6.8, and what the paper found for all
    "four unlike nodes": ((250, 330, 487, 693), "1,000 to 1,700"),
    "six alike nodes": ((1015 / 6,) * 6, "1,015"),
}


@click.command(cls=options.Command)
@output("cluster")
@count("--rate", default="12M", help="Reads/s of a node, as fmx bench map has them.")
@click.option(
    "--disk", type=options.Bytes(), default="20G", show_default=True, metavar="SIZE",
    help="Bytes/s that the shared file system gives to all nodes together.",
)  # fmt: skip
@click.option(
    "--failures", type=options.Number(0, 10**6, float), default=0.1, show_default=True, metavar="N",
    help="Failures of a node and day.",
)  # fmt: skip
@click.option("--no-merge", is_flag=True, help="Leave the shards as they are.")
def command(**given):
    """Simulate a job on 1 to 1,000 machines.

    Takes 10^9 to 10^13 reads, and for each number of machines the best size of shards. Prints speed-ups, and
    draws them.
    """
    from .kit import figures
    from .kit.workers import Site

    merging = 0.0 if given["no_merge"] else Site.merging
    site = Site((float(given["rate"]),), disk=given["disk"], failures=given["failures"], merging=merging)
    folder, rows = given["output"], _scaling(site)
    name = f"simulated: {site.rates[0] / 1e6:g} M reads/s a node, {site.disk / 1e9:g} GB/s of shared disk"
    figures.keep(folder, "scaling", name, rows)
    figures.keep(folder, "nodes", "simulated: figures 15 and 16", _paper())


def _scaling(site) -> list:
    """A row for each number of reads and of nodes."""
    from .kit.workers import best_shard, of_nodes

    rows = []
    for n_reads in READS:
        alone = None
        for n in NODES:
            sizes = [size for size in SIZES if 10**5 >= n_reads / size >= 1] or [SIZES[-1]]
            size, found = best_shard(of_nodes(site, n), n_reads, sizes)
            alone = alone or found.seconds
            rows.append({
                "reads": n_reads, "nodes": n, "shard": size, "hours": found.seconds / 3600,
                "speed-up": alone / found.seconds, "merging": found.merging / found.seconds,
                "lost": found.lost,
            })  # fmt: skip
    return rows


def _paper() -> list:
    """The paper's two clusters: pairs/s of their nodes, one more at a time."""
    from .kit.workers import Site, simulate

    rows = []
    for name, (rates, found) in PAPER.items():
        for n in range(1, len(rates) + 1):
            site = Site(rates[:n], start=0, index=0, disk=1e15, merging=0)
            n_pairs = 300_000
            pairs = n_pairs / simulate(site, n_pairs, 500).seconds
            rows.append({
                "cluster": name, "nodes": n, "pairs/s": pairs, "of their sum": pairs / sum(rates[:n]),
                "paper, all": found if n == len(rates) else None,
            })  # fmt: skip
    return rows
