"""What `fovnet bench` draws: races between searches, their ranks on many tables, throughput."""
