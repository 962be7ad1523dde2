"""Near matches of real genomes and reads: the sets of bowtie -v 1 -a and -v 2 -a, and of its best strata."""

import gzip
import subprocess

import pytest
import workflow


def bowtie(peer, prefix, reads, *options) -> set:
    """(read, flag without 256, contig, position, NM, MD) of each alignment."""
    command = [peer("bowtie"), "-S", "--sam-nohead", "-f", *options, "-x", prefix, reads]
    return found_in(subprocess.run(command, check=True, capture_output=True).stdout.decode())


def found_in(text) -> set:
    lines = [line.split("\t") for line in text.splitlines() if line[0] != "@"]
    tags = [dict(tag.split(":", 2)[::2] for tag in line[11:]) for line in lines]
    return {
        (line[0], int(line[1]) & 16, line[2], int(line[3]), own["NM"], own["MD"])
        for line, own in zip(lines, tags, strict=True)
        if line[2] != "*"
    }


@pytest.fixture(scope="module")
def lambda_phage(tmp_path_factory, peer):
    """(folder with ref.fmx and reads.fa, prefix of bowtie's index)."""
    from conftest import ROOT

    folder = tmp_path_factory.mktemp("peers")
    letters = "".join(gzip.decompress((ROOT / "fmx/data/lambda.fa.gz").read_bytes()).decode().split("\n")[1:])
    (folder / "ref.fa").write_text(f">lambda\n{letters[:20000]}NNRN{letters[20000:]}\n")
    workflow.build_index(folder / "ref.fa", folder / "ref.fmx", workflow.IndexOptions(), 2)
    subprocess.run([peer("bowtie-build"), "-q", folder / "ref.fa", folder / "ref"], check=True)
    reads = []
    for i in range(300):
        m, at = (8, 12, 20, 27, 50, 100)[i % 6], 150 * i
        read = letters[at : at + m]
        for j in range(i % 4):
            place = (7 * i + 5 * j) % m
            read = read[:place] + "ACGTN"[(i + j) % 5] + read[place + 1 :]
        reads.append(f">r{i}\n{read}\n")
    (folder / "reads.fa").write_text("".join(reads))
    return folder, folder / "ref"


@pytest.mark.parametrize("v", [1, 2])
def test_sets_are_those_of_bowtie(v, lambda_phage, command, peer):
    folder, prefix = lambda_phage
    how = ["search", "-q", "-x", folder / "ref.fmx", folder / "reads.fa", "-a", "--mismatches", v]
    every = found_in(command(*how).out.decode())
    assert every == bowtie(peer, prefix, folder / "reads.fa", "-v", str(v), "-a")
    best = found_in(command(*how, "--strata").out.decode())
    assert best == bowtie(peer, prefix, folder / "reads.fa", "-v", str(v), "-a", "--best", "--strata")
    assert 200 < len(best) < len(every)
