"""The answer of fmx tune in words: a table of choices, and the commands of the best."""

from ..errors import shown


def text(answer: dict) -> str:
    """Lines of text."""
    lines = [f"machine     {device}" for device in answer["devices"]]
    lines += [f"memory      {answer['note']}"] if answer["note"] else []
    what = answer["index"] or "a reference"
    lines.append(
        f"reference   {what}, {answer['n_text']:,} symbols; reads of {answer['length']} bases, one strand"
    )
    lines += ["", "million reads/s, searched and one hit located:", ""]
    head = ("search by", "engine", "sa-rate", "prefix", "reads MB", "predicted", "on sample", "corrected")
    lines += [_line(*cells) for cells in (head, *map(_cells, answer["rows"]))]
    lines += ["", *_commands(answer)]
    if "kept" in answer:
        lines.append(f"measured {answer['date']}; remove {answer['kept']} to measure again")
    return "\n".join(map(shown, lines))


def _line(way, engine, sa_rate, prefix, size, *speeds) -> str:
    tail = "".join(f"{speed:>15}" for speed in speeds)
    return f"{way:<20}{engine:<20}{sa_rate:>7}{prefix:>8}{size:>10}{tail}".rstrip()


def _cells(row) -> list:
    cells = [row[name] for name in ("way", "engine", "sa_rate", "prefix_length")]
    cells += [f"{row['n_bytes'] / 1e6:,.0f}", _million(row["predicted"])]
    if "corrected" not in row:
        return cells
    on_sample = f"{_million(row['sample_predicted'])} > {_million(row['sample_measured'])}"
    return [*cells, on_sample, _million(row["corrected"])]


def _million(reads) -> str:
    return f"{reads / 1e6:,.1f}" if reads < 1e8 else f"{reads / 1e6:,.0f}"


def _commands(answer) -> list:
    """How to index and search by the first row."""
    best = answer["rows"][0]
    verify = best["way"] == "verify"
    way = "--method verify" if verify else f"--layout {best['way']}"
    search = f"fmx search {way} --engine {best['engine']}"
    if answer["index"]:
        return [f"search by    {search} -x {answer['index']} READS"]
    layout = "" if verify else f" --layout {best['way']} --sa-rate {best['sa_rate']}"
    return [
        f"index by     fmx index{layout} --prefix-length {best['prefix_length']} REFERENCE",
        f"search by    {search} READS",
    ]
