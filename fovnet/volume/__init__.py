"""From a file to slices; the only package that handles affines."""
