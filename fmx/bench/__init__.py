"""fmx bench: one file a question, with a click command named ``command``; names with _ are shared parts."""
