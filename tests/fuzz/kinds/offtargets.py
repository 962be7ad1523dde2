"""Sites of guides in a small genome, in one run or in shards: those that the definition gives."""

import naive

from .. import mutate
from ..case import Case
from . import judged

SHARE = 2


def make(rng, folder) -> Case:
    contigs = []
    for i in range(rng.randrange(1, 5)):
        letters = rng.choice(["ACGT", "AC", "ACGTN", "AG", "A" * 30 + "R"])
        contigs.append((f"c{i}", "".join(rng.choices(letters, k=rng.choice([1, 25, 40, 200])))))
    contigs += [(f"copy{i}", sequence) for i, (_, sequence) in enumerate(contigs) if rng.random() < 0.4]
    contigs.append(("last", "".join(rng.choices("ACGT", k=rng.randrange(60, 120)))))
    pams = ["".join(rng.choices("ACGTNRYNN", k=rng.randrange(1, 4))) for _ in range(rng.randrange(1, 3))]
    most, is_5prime, cap = rng.randrange(5), rng.random() < 0.5, rng.choice([None, None, 1, 3])
    text = "N".join(x for _, sequence in contigs for x in (sequence, naive.reverse_complement(sequence)))
    guides, lengths = [], rng.choices(range(16, 29), k=2)
    while len(guides) < rng.randrange(1, 12):
        n, i = rng.choice(lengths), rng.randrange(len(text))
        guide = [letter if letter in "ACGT" else "A" for letter in (text[i:] + text)[:n]]
        for _ in range(rng.randrange(most + 2)):
            guide[rng.randrange(len(guide))] = rng.choice("ACGT")
        if len(guide) == n:
            guides.append("".join(guide))
    fasta = "".join(f">{name}\n{sequence}\n" for name, sequence in contigs).encode()
    table = "".join(["id,sequence\n", *(f"g{i},{guide}\n" for i, guide in enumerate(guides))])
    files = {"g.csv": table.encode(), "r.fa": mutate.packed(rng, fasta)[0]}
    words = ["offtargets", "-q", "-l", "g.csv", "r.fa", "--mismatches", str(most), "-t", rng.choice("12")]
    words += [word for pam in pams for word in ("--pam", pam)] + ["--pam-5prime"] * is_5prime
    words += [*(["-m", str(cap)] if cap else []), "--max-memory", rng.choice(["1G", "1K", "30K"])]
    run, n = [*words, "-o", "one.tsv", "--summary", "one.txt"], rng.randrange(4)
    shards = [[*words, "--shard", f"{i}/{n}", "-o", "out.d", "--summary", "all.txt"] for i in range(1, n + 1)]
    merge = [["merge", "-q", "out.d", "-o", "all.tsv"]] if n else []
    outputs = ["one.tsv", "one.txt", "out.d", "all.tsv", "all.txt"]
    facts = {"contigs": contigs, "guides": guides, "sites": (pams, most, is_5prime), "cap": cap}
    return Case("offtargets", "", [run, *shards, *merge], files, f"{n} shards", outputs, facts=facts)


def check(case, outcomes, folder) -> list:
    if outcomes[-1].code:
        return [f"refused what is whole: {outcomes[-1].message.strip()[:200]}"]
    wrong = judged(_check, case.facts, folder)
    if len(outcomes) > 1:
        for kind in ("tsv", "txt"):
            if (folder / f"all.{kind}").read_bytes() != (folder / f"one.{kind}").read_bytes():
                wrong.append(f"merged shards give another {kind} than one run")
    return wrong


def _check(facts, folder):
    contigs, guides, cap = facts["contigs"], facts["guides"], facts["cap"]
    sites, rows, summary = naive.sites(contigs, guides, *facts["sites"]), [], []
    most, is_5prime = facts["sites"][1:]
    for number, guide in enumerate(guides):
        of_guide = [site for site in sites if site[0] == number]
        counts = [sum(site[1] == n for site in of_guide) for n in range(most + 1)]
        n_listed = len(of_guide[:cap])
        unique = "yes" if counts[0] == 1 else "no"
        summary.append([f"g{number}", *map(str, [*counts, len(of_guide), n_listed]), unique])
        for _, n, contig, start, end, strand, letters in of_guide[:cap]:
            spacer = letters[-len(guide) :] if is_5prime else letters[: len(guide)]
            positions = ",".join(str(i + 1) for i, _ in naive.changes(guide, spacer)) or "*"
            place = contigs[contig][0], str(start), str(end), "+-"[strand]
            rows.append([f"g{number}", *place, letters, str(n), positions])
    for name, expected in (("one.tsv", rows), ("one.txt", summary)):
        written = [line.split("\t") for line in (folder / name).read_text().splitlines()[1:]]
        assert written == expected, (name, written, expected)
