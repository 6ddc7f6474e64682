"""What the networks see: channels of input, augmentation."""
