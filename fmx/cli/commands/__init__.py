"""One file a command: options in, one journey called.  Each holds a click command named ``command``."""
