"""A world in which every crash happens: unchanged controllers, twins in memory, virtual time, one seed."""
