"""BLEU and chrF with their signatures, bootstrap, and checks of what is scored."""
