"""Every engine that aligns pairs has what compute() calls."""

import protocols
import pytest

from fmx.align.gpu import GpuEngine
from fmx.align.pipeline import AlignmentEngine, CpuEngine


@pytest.mark.parametrize("kind", [CpuEngine, GpuEngine], ids=lambda kind: kind.__name__)
def test_an_engine_works_off_a_queue(kind):
    assert protocols.missing(AlignmentEngine, kind.__new__(kind)) == []
