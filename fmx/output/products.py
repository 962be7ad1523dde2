"""Products of PCR as BED6, TSV or FASTA, by the formats' names."""

HEAD = b"pair\tcontig\tstart\tend\tstrand\tsize\tforward_mismatches\treverse_mismatches\tproducts\n"
_COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
KINDS = ("tsv", "bed", "fasta")


def head_of(kind) -> bytes:
    """What stands before the first product."""
    return HEAD if kind == "tsv" else b""


def absent(pair) -> bytes:
    """The line of TSV for a pair without a product."""
    return "\t".join([pair.name, *"*******", "0\n"]).encode()


def lines_of(kind, pair, products, names, letters) -> bytes:
    """Products of a pair; ``names`` of the contigs, ``letters`` an index.letters.Letters."""
    put = {"tsv": _tsv, "bed": _bed, "fasta": _fasta}[kind]
    columns = products.contig, products.start, products.end, products.minus, *products.mismatches
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return b"".join(put(pair.name, names[row[0]], row, products.total, letters) for row in rows)


def _tsv(name, contig, row, total, letters):
    _, start, end, minus, forward, reverse = row
    strand = "-" if minus else "+"
    line = (name, contig, start, end, strand, end - start, forward, reverse, total)
    return ("\t".join(map(str, line)) + "\n").encode()


def _bed(name, contig, row, total, letters):
    _, start, end, minus, forward, reverse = row
    return f"{contig}\t{start}\t{end}\t{name}\t{forward + reverse}\t{'-' if minus else '+'}\n".encode()


def _fasta(name, contig, row, total, letters):
    """The letters are those of the strand on which the forward primer lies as it is."""
    number, start, end, minus, forward, reverse = row
    found = letters.between(number, start, end)
    found = found[::-1].translate(_COMPLEMENT) if minus else found
    place = f"{contig}:{start + 1}-{end}({'-' if minus else '+'})"
    return f">{name} {place} size={end - start} mismatches={forward},{reverse}\n".encode() + found + b"\n"
