"""`mooring agent`: makes a gateway host serve what the document says, and tells how it is."""
