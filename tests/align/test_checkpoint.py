"""A killed run resumes: nothing lost, nothing done twice."""

import os

import pytest

from fmx.align import pipeline
from fmx.align.pipeline import Checkpoint
from fmx.cli.main import run
from fmx.errors import InputError

from .families import family
from .test_pairwise import write


@pytest.fixture
def fasta(tmp_path):
    sequences = family(seed=9, n_roots=3, n_children=12, length=80, most=0.2)
    return str(write(tmp_path / "s.fa", [(f"s{i}", s) for i, s in enumerate(sequences)]))


@pytest.mark.parametrize("options", [["--cigar"], ["--id", "0.9"], ["--matrix", "identity"]])
def test_a_killed_run_resumes_without_loss_or_repetition(tmp_path, fasta, monkeypatch, options):
    whole, resumed, kept = tmp_path / "whole", tmp_path / "resumed", tmp_path / "kept"
    assert run(["pairwise", fasta, *options, "-q", "-o", str(whole)]) == 0
    command = ["pairwise", fasta, *options, "-q", "-o", str(resumed), "--checkpoint", str(kept)]
    keep, n_kept = Checkpoint.add, []

    def killed(self, number, data):
        if len(n_kept) == 3:
            raise KeyboardInterrupt
        n_kept.append(number)
        keep(self, number, data)

    monkeypatch.setattr(Checkpoint, "add", killed)
    assert run(command) == 130
    assert n_kept == [0, 1, 2]
    assert not resumed.exists()
    kept.write_bytes(kept.read_bytes()[:-5])  # the last record torn, as by a power cut

    done, chunks, compute, cut = [], [], pipeline.compute, pipeline.cut

    def watched(job, todo, *rest):
        chunks.extend(cut(job))
        done.extend(todo)
        return compute(job, todo, *rest)

    monkeypatch.setattr(Checkpoint, "add", keep)
    monkeypatch.setattr(pipeline, "compute", watched)
    assert run(command) == 0
    assert done == chunks[2:]
    assert len(done) > 3
    assert resumed.read_bytes() == whole.read_bytes()
    assert not kept.exists()


def test_a_checkpoint_of_another_job_is_refused(tmp_path, fasta, capsys):
    kept = tmp_path / "kept"
    Checkpoint(kept, "another digest").close(finished=False)
    assert run(["pairwise", fasta, "-o", os.devnull, "--checkpoint", str(kept)]) == 1
    said = f"{kept}: a checkpoint of other sequences or options; remove it, or name another file\n"
    assert capsys.readouterr().err.endswith(said)
    assert kept.exists()


def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path):
    kept = tmp_path / "thesis.txt"
    kept.write_text("years of work, more than one line of it, longer than the title of any checkpoint\n" * 9)
    before = kept.read_bytes()
    with pytest.raises(InputError, match="not a checkpoint; name another"):
        Checkpoint(kept, "digest")
    assert kept.read_bytes() == before


def test_records_survive_reopening_and_damage(tmp_path):
    path = tmp_path / "kept"
    kept = Checkpoint(path, "d")
    for number, data in enumerate([b"", b"some", b"bytes" * 100]):
        kept.add(number, data)
    kept.close(finished=False)
    again = Checkpoint(path, "d")
    assert [again.load(n) for n in again.done] == [b"", b"some", b"bytes" * 100]
    again.close(finished=False)
    damaged = bytearray(path.read_bytes())
    damaged[-525] ^= 1  # the last letter of "some": the third record's header has 20 bytes, its data 500
    path.write_bytes(damaged)
    mended = Checkpoint(path, "d")
    mended.close(finished=False)
    assert list(mended.done) == [0]
