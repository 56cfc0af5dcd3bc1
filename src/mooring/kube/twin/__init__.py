"""The Kubernetes API in memory: what its server answers, without a server, a clock, or chance."""
