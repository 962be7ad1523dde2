"""``fmx mem`` from an opened index to the lines that are written."""

import time
from dataclasses import dataclass, replace

from ..input.streams import whole_output
from ..machines.places import choose_place, on_each
from ..machines.threads import dealt
from ..output import module_of
from .matching import ALGORITHMS, Finder, compile_all
from .matching import find as find_all
from .slices import join


@dataclass(frozen=True)
class MemOutput:
    """What is written: ``kind`` mummer, paf, bed, tsv or sam; the rest as mummer's -c, -L and -F."""

    path: str = "-"
    kind: str = "mummer"
    original: bool = False
    lengths: bool = False
    four_columns: bool = False


def find(fm_index, paths, options, output, sam_header, progress, device):
    """Find the matches of queries, in order; ``sam_header()`` begins a SAM file.  Gives a Summary."""
    open_matches = module_of(output.kind).open_matches
    writer, head = open_matches(fm_index.reference, output, options.strands, sam_header)
    matchers = make_matchers(fm_index, options, device, progress)
    finders = [Finder(fm_index, options, writer, matcher) for matcher in matchers]
    finders = dealt(finders, options.n_threads)
    compile_all(finders)
    start = time.monotonic()
    with whole_output(output.path) as sink:
        sink.write(head)
        summary = find_all(finders, paths, sink, progress)
    if summary.queries == 0:
        progress.say(f"warning: no queries in {', '.join(map(str, paths))}")
    progress.say(summary.sentence(time.monotonic() - start))
    return summary


def make_matchers(fm_index, options, device, progress) -> list:
    """A matcher for each GPU, or None for one on the CPU."""

    def on_gpus(sessions):
        n_threads = -(-options.n_threads // len(sessions))
        of_one = replace(options, n_threads=n_threads)
        return on_each(sessions, lambda session: gpu_matcher(fm_index, of_one, session))

    return choose_place(device, on_gpus, lambda: [None], lambda where: progress.say(f"searching on {where}"))


def gpu_matcher(fm_index, options, session):
    """The matcher of an opened index on a GpuSession's GPU; parts have memory by their shares of the text."""
    whole = fm_index.reference.n_text
    parts = [
        part_matcher(part, options, session.share(part.reference.n_text, whole)) for part in fm_index.parts
    ]
    return join(fm_index, parts)


def part_matcher(index, options, session):
    """The matcher of an algorithm and of a part of an index on the GPU of a GpuSession."""
    from .mummergpu_gpu import GpuMummer
    from .seeds_gpu import GpuSeeds

    kind = {"seeds": GpuSeeds, "mummergpu": GpuMummer}[options.algorithm]
    return kind(ALGORITHMS[options.algorithm](index, options.least), session, options.n_threads)
