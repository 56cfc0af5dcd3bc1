"""The Kubernetes API: reading it, following it, writing to it. Decides nothing."""
