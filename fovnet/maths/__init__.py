"""Arrays in, arrays out; numpy and scipy; every file cites its source."""
