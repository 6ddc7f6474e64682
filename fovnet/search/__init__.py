"""Search methods: which configuration to train next; independent of images and tensors."""
