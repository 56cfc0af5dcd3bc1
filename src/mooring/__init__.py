"""Mooring makes a Kubernetes cluster fast to the OpenStack cloud that it runs on."""
