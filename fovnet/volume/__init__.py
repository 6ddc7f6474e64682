"""From a file to slices; the only room that knows about affines."""
