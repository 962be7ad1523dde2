"""Outputs and messages of every command alone, by a program, in three shards and on a cluster: the same."""

import gzip
import json
import pickle
import re
from collections import Counter

import cases
import numpy as np
import polars
import pysam
import pytest
import workflow
from cluster import nearby
from cluster.nearby import CONTIGS, body_of, reads
from output_of import bgzf, records_in
from pyarrow import parquet
from texts import random_letters

from fmx.cli import dispatch
from fmx.cli.main import fmx
from fmx.jobs import Resources
from fmx.machines.progress import Progress
from fmx.report import KINDS, with_general
from fmx.report import kind_of as kind_of_report

X = ["-x", "all.fmx"]
SEVERAL = ["-x", "one.fmx", "-x", "two.fmx"]
GUIDES = ["-l", "guides.csv", "--anywhere"]
FEW = ["-l", "few.csv", "--anywhere"]
SITES = ["-l", "guides.csv", "--pam", "NNG"]
TOLD = {"--counts": "c.tsv", "--screen": "s.tsv", "--al": "al.gz", "--un": "un.txt"}
REPORTS, COUNTS = {"--report": "r.json"}, {"--counts": "c.tsv"}
STATS, JSON, HTML = {"--report": "t.tsv"}, {"--report": "t.json"}, {"--report": "t.html"}
MATES = ["-1", "r1.fq", "-2", "r2.fq"]
PAIRS = [*MATES, "--ff"]
# By a name: what is asked for, the output, and those beside it.
CASES = {
    "sam": (["search", *X, "r.fq", "-a"], "out.sam", TOLD),
    "bam": (["search", *X, "r.fq.gz", "-k", "2", "--rg", r"@RG\tID:a"], "out.bam",
            {"--report": "x_mqc.json"}),
    "sorted bam": (["search", *X, "r.fq", "-a", "--sort"], "out.bam", {}),
    "cram": (["search", *X, "r.fq"], "out.cram", {}),
    "sorted cram": (["search", *X, "r.fq", "--reference", "all.fa", "--sort"], "out.cram", COUNTS),
    "tsv": (["search", *X, "r.fq", "--mismatches", "1", "-a"], "out.tsv", REPORTS),
    "paf": (["search", *X, "r.fq.gz"], "out.paf", {}),
    "bed": (["search", *X, "r.fq", "--seed", "3"], "out.bed", {}),
    "parquet": (["search", *X, "r.fq", "-a"], "out.parquet", {}),
    "groups": (["search", *X, "r.fq", "--counts-by", "group"], "out.sam", COUNTS | REPORTS),
    "range": (["search", *X, "r.fq", "r.fq.gz", "--skip", "17", "--first", "133"], "out.sam", TOLD | REPORTS),
    "range of gzip": (["search", *X, "whole.fq.gz", "r.fq", "--skip", "130"], "out.sam", {}),
    "range behind the end": (["search", *X, "r.fq", "--skip", "1000"], "out.sam", COUNTS | REPORTS),
    "strange reads": (["search", *X, "strange.fq", "--forward-only"], "out.sam", {}),
    "strange patterns": (["locate", *X, "strange.fq"], "out.tsv", {}),
    "strange samples": (["count", "-l", "guides.csv", "--offset", "0", "strange.fq"], "out.tsv", {}),
    "comments": (["search", *X, "comments.fq", "-C"], "out.bam", HTML),
    "range of pairs": (["search", *X, *PAIRS, "--skip", "41", "--first", "57"], "out.sam", {"--al": "al.fq"}),
    "range of pairs, first": (["search", *X, *PAIRS, "--first", "29"], "out.sam", {}),
    "range of pairs that cannot be cut": (
        ["search", *X, "-1", "r1.fq", "-2", "whole2.fq.gz", "--ff", "--skip", "7", "--first", "30"],
        "out.sam", {}),
    "range of interleaved": (
        ["search", *X, "both.fq", "--interleaved", "--ff", "--skip", "30", "--first", "40"], "out.sam", {}),
    "collapsed": (["search", *X, "r.fq", "r.fq.gz", "--collapse", "-a"], "out.sam", TOLD | REPORTS),
    "collapsed range": (
        ["search", *X, "r.fq", "--collapse", "--mismatches", "1", "--first", "99"], "out.tsv", {}),
    "pairs": (["search", *X, *PAIRS], "out.sam", {"--screen": "s.tsv", "--un": "un.fq", **REPORTS}),
    "near pairs": (["search", *X, *PAIRS, "--mismatches", "2", "-a"], "out.tsv", TOLD | REPORTS),
    "best pairs": (["search", *X, *PAIRS, "--mismatches", "1", "--strata"], "out.bam", COUNTS),
    "screen": (["search", *SEVERAL, "r.fq"], None, {"--screen": "s.tsv", "--un": "un.fq", **REPORTS}),
    "screen with hits": (["search", *SEVERAL, "r.fq", "--format", "bam"], "out.bam", {"--screen": "s.tsv"}),
    "stretches": (["search", *SEVERAL, "r.fq", "--min-match", "20", "--counts-by", "group"], None,
                  TOLD | REPORTS),
    "stretches of pairs": (["search", *X, *MATES, "--min-match", "20"], None, TOLD | REPORTS),
    "reads by contig": (["search", *X, "r.fq"], "out.sam", {"--al": "{target}.fq.gz", "--un": "un.fq"}),
    "reads by index": (["search", *SEVERAL, "r.fq", "--shared", "each", "--mismatches", "1"], None,
                       {"--screen": "s.tsv", "--al": "{target}.fq"}),
    "pairs by group": (["search", *X, *MATES, "--min-match", "20", "--counts-by", "group"], None,
                       {"--screen": "s.tsv", "--al": "{target}.fq.gz", **REPORTS}),
    "located": (["locate", *X, "p.fa", "--absent"], "out.tsv", {}),
    "located bed": (["locate", *X, "p.fa", "--mismatches", "1"], "out.bed", {}),
    "located sam": (["locate", *SEVERAL, "p.fa"], "out.sam", {}),
    "located parquet": (["locate", *X, "p.fa", "--iupac"], "out.parquet", {}),
    "literal": (["locate", *X, *(f"-p{CONTIGS[0][1][i : i + 12]}" for i in range(0, 50, 7))], "out.tsv", {}),
    "presence": (["locate", *X, "p.fa", "--matrix", "presence"], "out.Rtab", {}),
    "matrix": (["locate", *X, "p.fa", "--matrix", "counts"], "out.tsv", {}),
    "npz": (["locate", *X, "p.fa", "--matrix", "counts"], "out.npz", {}),
    "products": (["locate", *X, "--pairs", "primers.tsv", "--absent"], "out.tsv", {}),
    "products bed": (["locate", *X, "--pairs", "primers.tsv"], "out.bed", {}),
    "products fasta": (["locate", *X, "--pairs", "primers.tsv", "--format", "fasta"], "out.fa", {}),
    **{f"mem {kind}": (["mem", *X, "-b", "p.fa", "--format", kind], "out.txt", {})
       for kind in ("mummer", "paf", "bed", "tsv", "sam")},
    "mem of several": (["mem", *SEVERAL, "r.fq"], "out.txt", REPORTS),
    "mem of nothing": (["mem", *X, "none.fa", "--format", "sam"], "out.txt", HTML),
    "count": (["count", *GUIDES, "r.fq", "r.fq.gz", "--names", "a,b"], "out.tsv",
              {"--report": "x_mqc.json"}),
    "count long": (["count", *GUIDES, "r.fq,r.fq", "--names", "twice", "--format", "long"], "out.tsv", HTML),
    "count mates": (["count", *GUIDES, *MATES], "out.tsv", STATS),
    "count pairs of guides": (
        ["count", *GUIDES, "-l", "guides2.csv", *MATES], "out.tsv", JSON),
    "sites": (["offtargets", *SITES, "all.fa", "--pam", "A"], "out.tsv",
              {"--summary": "s.tsv", **REPORTS}),
    "sites bed": (["offtargets", *SITES, "all.fmx", "-m", "2"], "out.bed", {"--summary": "s.tsv", **HTML}),
    "sites parquet": (["offtargets", *SITES, "all.fa", "--mismatches", "1"], "out.parquet", {}),
    "count by guide": (["count", *FEW, "r.fq,r.fq.gz", "whole.fq.gz", "--mismatches", "1"], "out.tsv",
                       {"--al": "{target}.fq.gz", "--un": "un.fq"}),
    "count mates by guide": (["count", *FEW, *MATES], "out.tsv", {"--al": "{target}.fq", "--un": "un.gz"}),
    "pairwise": (["pairwise", "genes.fa", "--id", "0.3", "--cigar"], "out.tsv", {}),
    "pairwise paf": (["pairwise", "genes.fa", "few.fa"], "out.paf", {}),
    "scores": (["pairwise", "genes.fa", "--matrix", "score"], "out.npz", {}),
    "identities": (["pairwise", "genes.fa", "few.fa", "--matrix", "identity"], "out.npz", {}),
    "phylip": (["pairwise", "genes.fa", "--matrix", "identity"], "out.phy", {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    few = reads(120)
    mates = [(name, few[-i][1]) for i, (name, _) in enumerate(few, 1)]
    for name, its in (("r", few), ("r1", few), ("r2", mates)):
        (folder / f"{name}.fq").write_bytes(cases.fastq(its))
    (folder / "comments.fq").write_bytes(cases.fastq([(f"{name} XT:Z:{name}", x) for name, x in few]))
    (folder / "none.fa").touch()
    strange = [(f"r{i}", random_letters(40, i) if i % 3 else "N" * 40) for i in range(120)]
    (folder / "strange.fq").write_bytes(cases.fastq(strange))
    both = [read for pair in zip(few, mates, strict=True) for read in pair]
    (folder / "both.fq").write_bytes(cases.fastq(both))
    (folder / "r.fq.gz").write_bytes(bgzf(cases.fastq(few), 1500))
    (folder / "whole.fq.gz").write_bytes(gzip.compress(cases.fastq(few)))
    (folder / "whole2.fq.gz").write_bytes(gzip.compress(cases.fastq(mates)))
    patterns = [(f"p{i}", letters[i % 9 : 30]) for i, (_, letters) in enumerate(reads(90))]
    (folder / "p.fa").write_bytes(cases.fasta(patterns))
    genes = [(f"g{i}", CONTIGS[0][1][i : i + 60]) for i in range(0, 600, 10)]
    (folder / "genes.fa").write_bytes(cases.fasta(genes))
    (folder / "few.fa").write_bytes(cases.fasta(genes[3:20]))
    text = "".join(letters for _, letters in CONTIGS)
    for name, begin, step in (("guides", 0, 23), ("guides2", 7, 23), ("few", 3, 190)):
        rows = [f"s{i},{text[i : i + 20]},g{i}\n" for i in range(begin, 3800, step)]
        (folder / f"{name}.csv").write_text("".join(["id,sequence,gene\n", *rows]))
    complement = str.maketrans("ACGT", "TGCA")
    primers = [
        f"pair{i}\t{text[i : i + 18]}\t{text[i + 200 : i + 218][::-1].translate(complement)}\n"
        for i in range(0, 2400, 40)
    ]
    (folder / "primers.tsv").write_text("".join(primers))
    for name, contigs in (("one", CONTIGS[:1]), ("two", CONTIGS[1:])):
        (folder / f"{name}.fa").write_bytes(cases.fasta(contigs))
        workflow.build_index(folder / f"{name}.fa", folder / f"{name}.fmx")
    (folder / "all.fa").write_bytes(cases.fasta(CONTIGS))
    workflow.build_index([folder / "one.fa", folder / "two.fa"], folder / "all.fmx")
    return folder


def content(path) -> object:
    """What a file holds that no two runs of one job may differ in."""
    if path.suffix == ".json" and "_mqc" not in path.name:
        facts = json.loads(path.read_text())
        facts["options"] = None
        for name in ("command_line", "started", "seconds", "rates", "stages", "places", "shards"):
            facts.pop(name, None)
        return facts
    if path.suffix == ".cram":
        return records_in(path)
    if path.suffix in (".bai", ".crai", ".html"):
        return bool(path.read_bytes())  # of offsets, which the @PG line moves, and of times
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    return body_of(path) if path.suffix in (".sam", ".bam", ".txt") else path.read_bytes()


def records_of(path, kind, names) -> tuple:
    """(header, records) of a complete file of a kind, as other software reads it; ``names`` of targets.

    Of pairs of sequences (query, target, value) and, as both are those of one file, (target, query, value).
    """
    data = path.read_bytes()
    if kind in ("sam", "bam", "cram") or data.startswith(b"@HD\t"):
        begin, end = ENDS.get(kind, (b"@HD\t", b"\n"))
        assert (data[: len(begin)], data[-len(end) :]) == (begin, end)
        with pysam.AlignmentFile(path, check_sq=False) as file:
            header = file.header.to_dict()
        return {**header, "PG": None}, [record[:11] for record in records_in(path)]
    if kind == "parquet":
        table = polars.read_parquet(path)
        rows = table.rows()
        assert [tuple(row.values()) for row in parquet.ParquetFile(path).read().to_pylist()] == rows
        return table.columns, rows
    if kind == "npz":
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        if "values" in arrays:
            return None, cells(*(arrays[name].tolist() for name in ("queries", "targets", "values")))
        rows, ends = np.zeros(arrays["shape"], int), arrays["indptr"]  # as scipy reads it
        assert (ends[0], ends[-1], ends.size) == (0, arrays["data"].size, 1 + len(rows))
        rows[np.repeat(np.arange(len(rows)), np.diff(ends)), arrays["indices"]] = arrays["data"]
        lines = zip(arrays["patterns"].tolist(), rows.tolist(), strict=True)
        return arrays["groups"].tolist(), list(lines)
    lines = data.decode().splitlines()
    if kind == "phy":
        rows = [line.split(" ") for line in lines[1:]]
        assert int(lines[0]) == len(rows)
        targets = names[len(names) - len(rows[0][1:]) :] if rows else []
        return None, cells([row[0] for row in rows], targets, [row[1:] for row in rows])
    assert data[-1:] in (b"", b"\n")
    if kind in ("tsv", "rtab", "bed", "paf"):
        assert len({line.count("\t") for line in lines}) <= 1
    has_header = lines and not re.match(r"[^\t]+\t\d|>", lines[0])
    return (lines[0], lines[1:]) if has_header else (None, lines)


# What BAM and CRAM begin and end with, by the specifications.
ENDS = {
    "bam": (b"\x1f\x8b\x08\x04", bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")),
    "cram": (
        b"CRAM",
        bytes.fromhex("0f000000ffffffff0fe0454f4600000000010005bdd94f0001000606010001000100ee63014b"),
    ),
}


def cells(queries, targets, rows) -> list:
    values = [
        (query, target, float(value))
        for query, row in zip(queries, rows, strict=True)
        for target, value in zip(targets, row, strict=True)
    ]
    return values + [(target, query, value) for query, target, value in values]


def counts_in(lines) -> Counter:
    """The counts of a table of fmx count by its other columns and the sample."""
    rows = [re.fullmatch(r"(.*?)((?:\t\d+)+)", line).groups() for line in lines]
    counts = {(names, i): int(n) for names, ns in rows for i, n in enumerate(ns.split("\t")[1:])}
    assert len(counts) == sum(ns.count("\t") for _, ns in rows)
    return +Counter(counts)


def check_shards(folders, merged, output, arguments, names):
    """Every output of a shard is complete, and all of them together are those of the whole run."""
    kind = output.split(".")[-1].lower() if output else None
    if output:
        of_shards = [records_of(folder / "output", kind, names) for folder in folders]
        header, records = records_of(merged / output, kind, names)
        assert all(each == header for each, _ in of_shards)
        together = [record for _, rows in of_shards for record in rows]
        if arguments[0] == "count":
            assert sum((counts_in(rows) for _, rows in of_shards), Counter()) == counts_in(records)
        elif "--matrix" in arguments and arguments[0] == "pairwise":
            assert set(together) == set(records)
        elif "-m" in arguments:  # at most so many of each shard
            assert set(records) <= set(together)
        else:
            assert sorted(together) == sorted(records)
        indexes = {path.name.removeprefix("output") for path in folders[0].glob("output*")}
        assert indexes == {path.name.removeprefix(output) for path in merged.glob(f"{output}*")}
    for path in folders[0].iterdir():
        files = [folder / path.name for folder in folders]
        if path.suffix == ".json":
            assert all(json.loads(each.read_text()) for each in files)
        elif path.suffix == ".tsv":
            heads = {each.read_text().partition("\n")[0] for each in files}
            assert any(heads == {each.read_text().partition("\n")[0]} for each in merged.glob("*.tsv"))
        elif not path.name.startswith(("output", "counts")):  # of reads
            data = [each.read_bytes() for each in files]
            data = [gzip.decompress(each) if each[:2] == b"\x1f\x8b" else each for each in data]
            assert b"".join(data) in [content(each) for each in merged.iterdir()]


def written(folder) -> dict:
    """{name: what it holds} of all files of a folder."""
    return {path.name: content(path) for path in folder.iterdir()}


PACE = (
    r"; (\d shards?, [0-9.]+ s of computing time|(\d+ shards?, )?[0-9.]+ s( [(].*[)])?(, [0-9,.]+ \w+/s"
    "( without compiling)?)?)$"
)
STEP = (
    r"fmx: compiling |fmx: \d+ shards? on the cluster at|\d:\d\d|: \d.\d s$|of them distinct$|more than once,"
)


def said(result) -> list:
    """The lines on standard error, without those of steps, and without how long it took, which one tells."""
    lines = [line for line in result.err.splitlines() if not re.search(STEP, line)]
    assert sum(bool(re.search(PACE, line)) for line in lines) == 1, lines
    return [re.sub(PACE, "", line) for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_all_ways_to_do_a_job_write_the_same(name, home, command, monkeypatch, tmp_path):
    monkeypatch.chdir(home)
    arguments, output, beside = CASES[name]
    near = nearby.use(monkeypatch)
    monkeypatch.setattr("fmx.jobs.merge._AT_ONCE", 997)  # what is merged is cut within records

    def others(folder):
        return [word for option, path in beside.items() for word in (option, folder / path)]

    def run(folder, *words):
        folder.mkdir(exist_ok=True)
        done = command(*words, *(["-o", folder / output] if output else []), *others(folder))
        assert done.code == 0, done.err
        return said(done)

    seen, run_job = [], dispatch.run
    with monkeypatch.context() as patched:
        patched.setattr(dispatch, "run", lambda job, *rest: seen.append(job) or run_job(job, *rest))
        told = run(tmp_path / "alone", *arguments, "-t", "2")
    expected = written(tmp_path / "alone")
    assert len(expected) >= bool(output) + len(beside) + ("--sort" in arguments)
    for path in (tmp_path / "alone").iterdir():
        path.unlink()
    for job, copied in zip(seen, pickle.loads(pickle.dumps(seen)), strict=True):  # by a Python program
        run_job(copied, Resources(3), Progress(quiet=True))
        assert copied == job
        for field in job.__dataclass_fields__:
            with pytest.raises(AttributeError):
                setattr(job, field, None)
    assert written(tmp_path / "alone") == expected
    kind = [] if not output or "--format" in arguments else kind_of(arguments, output)
    for i in (1, 2, 3):
        words = [*arguments, *kind, "-q", "-t", i, "--shard", f"{i}/3", "-o", tmp_path / "d"]
        done = command(*words, *others(tmp_path / "merged"))
        assert done.code == 0, done.err
    (tmp_path / "merged").mkdir()
    done = command("merge", tmp_path / "d", *(["-o", tmp_path / "merged" / output] if output else []))
    assert (done.code, said(done)) == (0, told), done.err
    assert written(tmp_path / "merged") == expected
    folders = [tmp_path / "d" / f"000{i}-of-0003" for i in (1, 2, 3)]
    names = re.findall(r">(\S+)", (home / "genes.fa").read_text())
    check_shards(folders, tmp_path / "merged", output, arguments, names)
    assert run(tmp_path / "cluster", *arguments, "-t", "2", *near) == told
    assert written(tmp_path / "cluster") == expected


@pytest.mark.parametrize("name", ["search", "locate", "mem", "count", "offtargets", "pairwise"])
def test_every_output_of_a_command_is_among_the_cases(name):
    runs = [case for case in CASES.values() if case[0][0] == name]
    options = {param.opts[0]: param for param in fmx.get_command(None, name).params}
    outputs = {option for _, _, others in runs for option in others}
    assert outputs == {"--counts", "--screen", "--summary", "--al", "--un", "--report"} & options.keys()
    reports = {
        kind_of_report(path) for *_, others in runs for path in with_general(others.get("--report", ""))
    }
    assert reports - {None} == set(KINDS.get(name, ()))
    kinds = {words[words.index("--format") + 1] for words, *_ in runs if "--format" in words}
    kinds |= {word for words, output, _ in runs if output for word in kind_of(words, output)}
    choices = options["--format"].type.choices if "--format" in options else ()
    assert set(choices) - {"tsv", "mummer", "mageck"} <= kinds


def kind_of(arguments, output) -> list:
    """--format, for a command with --shard, whose -o is a folder."""
    kind = {"phy": "phylip", "txt": "", "fa": "fasta"}.get(kind := output.split(".")[-1].lower(), kind)
    return ["--format", kind] if kind and arguments[0] != "count" else []
