"""Reports of runs: facts as JSON, self-contained HTML pages with figures, tables, MultiQC sections."""
