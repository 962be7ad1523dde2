"""What fmx search and fmx locate do alike."""

from .. import options, workflow
from ..index.fm_index import load
from ..machines.progress import Progress
from ..search.mapper import MapOptions
from .places import check_places


def map_to_index(given, files, outputs, policy, output, sources=None):
    """Open the index, map ``sources`` (by default the ``files``), write ``output`` (workflow.Output).

    ``outputs`` as check_places takes them; ``policy`` says which hits are reported.
    """
    path, strands = options.find_index(given.index_path), options.strands_of(given)
    check_places(files, outputs, path)
    fm_index = load(path, given.layout, given.method, given.threads, given.max_memory, given.verify)
    wanted, device = MapOptions(policy, strands, given.threads), options.device_of(given)
    workflow.search(fm_index, sources or files, wanted, output, Progress(given.quiet), device)
