"""What the report says."""
