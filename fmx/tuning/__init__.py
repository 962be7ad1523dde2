"""`fmx tune`: the fastest index and engine on this machine, predicted from memory rates and then tried."""
