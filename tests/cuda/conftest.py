"""What the CPU does for a GPU."""

import pytest


@pytest.fixture
def on_cpu(monkeypatch):
    """Chunks, or Mates, that the CPU maps, and the blocks of BGZF that it inflates."""
    from fmx import codecs
    from fmx.search.mapper import Mapper

    noted, map_records, inflate = [], Mapper.map_records, codecs.inflate

    def map_and_note(mapper, records, writer, emit):
        noted.extend(records if mapper.pairs else [records])
        return map_records(mapper, records, writer, emit)

    def inflate_and_note(*given):
        noted.append(given)
        return inflate(*given)

    monkeypatch.setattr(Mapper, "map_records", map_and_note)
    monkeypatch.setattr(codecs, "inflate", inflate_and_note)
    return noted
