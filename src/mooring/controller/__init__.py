"""`mooring controller`: watches Services, makes what they need in OpenStack, and tells the gateways."""
