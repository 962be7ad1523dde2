"""``fmx offtargets``: sites of guides in a genome, without an index: a PAM beside a few mismatches."""
