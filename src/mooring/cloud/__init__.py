"""The OpenStack cloud below the cluster: Neutron, typed, and its twin in memory."""
