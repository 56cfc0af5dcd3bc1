"""What things cost, beside the other way to do them."""
