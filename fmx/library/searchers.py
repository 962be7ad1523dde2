"""What searches an index: made anew on the CPU; kept on GPUs, with all that was brought there."""

from typing import Any

from ..index.fm_index import FMIndex, JoinedIndex
from ..machines.places import Device, choose_place
from ..machines.progress import Progress
from ..mem.matching import MemOptions
from ..search.hits import SelectionPolicy
from ..search.mapping import BOTH, MapOptions, Mapper, Near, make_mapper
from ..search.near.near_mapper import make_near_mapper
from ..search.pairs.proper import Pairing
from ..search.sparse import where_searched

AnyIndex = FMIndex | JoinedIndex


class Searchers:
    """Of one index, by a Device and ``n_threads``."""

    def __init__(self, device: Device, n_threads: int) -> None:
        self.device, self.n_threads = device, n_threads
        self._kept: tuple[AnyIndex | None, Near | None, list[Mapper]] = (None, None, [])

    def close(self) -> None:
        """Free what GPUs hold."""
        self._kept = None, None, []

    def of(
        self, index: AnyIndex, policy: SelectionPolicy, strands: int = BOTH, near: Near | None = None,
        pairing: Pairing | None = None,
    ) -> list[Mapper]:  # fmt: skip
        """Mappers by what MapOptions are asked for, of as many threads each as their options say.

        Raises DeviceError, UnsupportedError.
        """
        options = MapOptions(policy, strands, self.n_threads, near=near, pairing=pairing)
        device = where_searched(index, self.device)
        if device.engine == "cpu":
            return [_on_cpu(index, options)]
        held, kept_near, mappers = self._kept
        if held is not index or kept_near != near:
            self.close()
            mappers = choose_place(
                device, lambda sessions: self._on_gpus(index, options, sessions),
                lambda: [_on_cpu(index, options)], lambda where: None,
            )  # fmt: skip
            self._kept = index, near, mappers
        return [mapper.asked(policy=policy, strands=strands, pairing=pairing) for mapper in mappers]

    def matchers(self, index: AnyIndex, options: MemOptions) -> list[tuple[Any, int]]:
        """(matcher, n_threads) of each team of GPUs, or of the CPU, for mem.MemOptions."""
        from ..mem.journey import make_matchers

        self.close()
        return make_matchers(index, options, self.device, Progress(quiet=True))

    def _on_gpus(self, index: AnyIndex, options: MapOptions, sessions: list) -> list[Mapper]:
        from ..search.gpu import gpu_mapping
        from ..search.near import near_gpu

        engine = None if self.device.engine in ("cuda", "auto") else self.device.engine
        make = near_gpu.make_near_mapper if options.near else gpu_mapping.make_mapper

        def place(own_options: MapOptions, team: list) -> Mapper:
            return make(index, own_options, team, engine)

        return gpu_mapping.of_teams(index, options, sessions, place)


def _on_cpu(index: AnyIndex, options: MapOptions) -> Mapper:
    return (make_near_mapper if options.near else make_mapper)(index, options)
