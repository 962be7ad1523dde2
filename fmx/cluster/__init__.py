"""One job on many machines: shards and what joins them."""
