"""The clients that are measured, one program for each. Each runs in a fresh process of the environment that it needs.

    python -m bench.clients.NAME events|start|write KUBECONFIG NUMBER

The number is that of Services that there are (events, start) or of writes in flight (write). The program prints what it
took, as JSON.
"""
