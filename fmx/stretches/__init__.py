"""``fmx search --min-match``: reads of which so many consecutive bases occur, without records of hits."""
