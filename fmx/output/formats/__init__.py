"""Output formats, one file per format."""
