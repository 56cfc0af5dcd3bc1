"""A Neutron in memory, at the level of HTTP: it answers what the real one answers, and passes the same contract suite.

It knows the attributes that `mooring.model.cloud` has and no others, keeps no time and draws no lots: ids and the clock
are given to it, addresses are taken from the lowest on, and everything is sorted. The same requests get the same bytes.
"""
