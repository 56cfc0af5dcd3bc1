"""The host that we run on: packet filter, VRRP daemon, settings. Touches, and decides nothing."""
