"""What Mooring is in a cluster, as Kubernetes objects: plain data, the same bytes for the same input."""
