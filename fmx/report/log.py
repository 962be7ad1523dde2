"""Facts as the lines that bowtie ends with, which MultiQC's module of bowtie 1 reads."""


def as_log(facts) -> bytes:
    """Of pairs, as bowtie, pairs count, and those that are proper; ``m`` is a line of its own where given."""
    counts = facts["counts"]
    if "pairs" in counts:
        n, mapped = counts["pairs"], counts["proper"]
    else:
        n, mapped = counts["reads"], counts["mapped"]
    suppressed = counts["suppressed"]
    lines = [
        f"# fmx {facts['fmx']} {facts['command']}",
        f"# reads processed: {n}",
        f"# reads with at least one alignment: {_share(mapped, n)}",
        f"# reads that failed to align: {_share(n - mapped - suppressed, n)}",
    ]
    if suppressed:
        lines.append(f"# reads with alignments suppressed due to -m: {_share(suppressed, n)}")
    return "".join(f"{line}\n" for line in lines).encode()


def _share(part, whole) -> str:
    return f"{part} ({100 * part / max(whole, 1):.2f}%)"
