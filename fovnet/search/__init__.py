"""Where to look and how much to spend; never sees an image or a tensor."""
