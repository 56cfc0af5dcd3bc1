"""What every conversation over HTTP has in common: requests as data, and one place where each of them is sent."""
