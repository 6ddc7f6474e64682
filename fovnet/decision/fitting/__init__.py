"""The rule and its bars, chosen on the validation split."""
