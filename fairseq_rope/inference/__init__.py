"""From a line of text to its translation: cleaning, segmentation, engines."""
