"""The stages of preparing a corpus: time and memory."""
