"""What the lab runs but does not contain: made or fetched once, kept in the cache of the machine, keyed by content."""
