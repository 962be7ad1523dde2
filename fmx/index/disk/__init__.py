"""An index on disk: how it is written, opened, checked and sealed."""
