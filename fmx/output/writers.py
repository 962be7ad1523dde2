"""Writers of one output, one for each read group."""


class Writers:
    """HitWriters by the paths of the files whose reads they write; all alike but for what they add."""

    def __init__(self, of_path: dict):
        self._of_path, self._all = of_path, list(dict.fromkeys(of_path.values()))
        self.is_sam, self.takers, self.end = self._all[0].is_sam, self._all[0].takers, self._all[0].end

    def of(self, span):
        """That of a span's file; any one for reads that are nobody's."""
        return self._of_path.get(span.path, self._all[0])

    def refusals(self) -> set:
        """Why GPUs do not deflate what they make: sentences."""
        return set().union(*(writer.refusals() for writer in self._all))

    def written(self, piece) -> None:
        """What one of them gave has been written."""
        owner = next((writer for writer in self._all if writer.owns(piece)), self._all[0])
        owner.written(piece)
