"""Where guides are looked for in a read, as asked."""

from dataclasses import dataclass

from ..input.reads import FORWARD, REVERSE
from .where import Where, at_offsets, scanned


@dataclass(frozen=True)
class Looked:
    """``offsets`` of a read; ``after`` and ``before``: flanks; ``anywhere``; none of them: the offsets that
    the first reads tell.  ``strands`` as bits."""

    offsets: tuple = ()
    after: str = ""
    before: str = ""
    anywhere: bool = False
    strands: int = FORWARD | REVERSE

    def __str__(self):
        where = f"at {', '.join(map(str, self.offsets))}" if self.offsets else "at offsets of the first reads"
        if self.after or self.before or self.anywhere:
            where = f"after {self.after}" if self.after else ""
            where += f" before {self.before}" if self.before else ""
            where = where.strip() or "anywhere"
        strands = {FORWARD: "forward", REVERSE: "reverse", FORWARD | REVERSE: "both strands"}[self.strands]
        return f"{where}, {strands}"

    def where(self) -> Where | None:
        """Where guides are looked for; None if the first reads tell."""
        if self.offsets:
            both = [(False, FORWARD), (True, REVERSE)]
            strands = [reverse for reverse, strand in both if self.strands & strand]
            return at_offsets([(offset, reverse) for offset in self.offsets for reverse in strands])
        if self.after or self.before or self.anywhere:
            return scanned(self.strands, self.after, self.before)
        return None
