"""A whole Kubernetes-on-OpenStack world on one Linux machine, made of child processes and namespaces.

The package knows how real programs are configured, started, watched, broken and removed. It knows nothing of what
Mooring does with them: the controller, the agents and the tests are its guests.
"""
