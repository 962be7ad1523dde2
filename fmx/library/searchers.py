"""What searches an index: made anew on the CPU; kept on GPUs, with all that was brought there."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..index.fm_index import FMIndex, JoinedIndex
from ..machines.auto import Auto
from ..machines.places import Device
from ..machines.progress import Progress
from ..mem.journey import make_finders
from ..mem.matching import Finder, MemOptions
from ..search.hits import SelectionPolicy
from ..search.mappers import make_mappers
from ..search.mapping import BOTH, MapOptions, Mapper, Near
from ..search.pairs.proper import Pairing

AnyIndex = FMIndex | JoinedIndex


class Searchers:
    """Of one index, by a Device and ``n_threads``."""

    def __init__(self, device: Device, n_threads: int) -> None:
        self.device, self.n_threads = device, n_threads
        self._kept: tuple[AnyIndex | None, Near | None, list] = (None, None, [])

    def close(self) -> None:
        """Free what GPUs hold."""
        self._kept = None, None, []

    def of(
        self, index: AnyIndex, policy: SelectionPolicy, strands: int = BOTH, near: Near | None = None,
        pairing: Pairing | None = None,
    ) -> Sequence[Mapper | Auto[Mapper]]:  # fmt: skip
        """Mappers by what MapOptions are asked for, of as many threads each as their options say.

        Raises DeviceError, UnsupportedError.
        """
        held, kept_near, mappers = self._kept
        if held is not index or kept_near != near:
            self.close()
            options = MapOptions(n_threads=self.n_threads, near=near)
            mappers = make_mappers(index, options, self.device, Progress(quiet=True))
            if self.device.engine != "cpu":
                self._kept = index, near, mappers
        asked = partial(_asked, {"policy": policy, "strands": strands, "pairing": pairing})
        return [mapper.as_asked(asked) if isinstance(mapper, Auto) else asked(mapper) for mapper in mappers]

    def finders(self, index: AnyIndex, options: MemOptions, writer: Any) -> list[Finder | Auto[Finder]]:
        """Finders of matches, of which ``writer`` makes pieces."""
        self.close()
        make = partial(Finder, index, writer=writer)
        return make_finders(make, index, options, self.device, Progress(quiet=True))


def _asked(options: dict[str, Any], mapper: Mapper) -> Mapper:
    return mapper.asked(**options)
