"""The kernel of MUMmerGPU++ compiled for two GPUs without one: what its code must not hold."""

import mems
import numpy as np
import pytest
from ptx import check_lean, code_of

pytest.importorskip("numba_cuda", reason="pip install '.[cuda]'")


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)], ids=str)
def test_code_of_the_matching_kernel(capability):
    from fmx.mem.mummergpu import LongestMatches, make_jobs
    from fmx.mem.mummergpu_gpu import match_kernel

    host, strands = mems.mummergpu("ACGT$", 1), mems.strands(["ACG"])
    jobs = make_jobs(strands, 1)
    ptx = code_of(
        match_kernel,
        (host.segment, strands, jobs, np.int64(1), LongestMatches(*[np.zeros(3, np.uint32)] * 2)),
        capability,
    )
    check_lean(ptx)
    assert "ld.global.v2" not in ptx  # no wide loads: one thread, one place
