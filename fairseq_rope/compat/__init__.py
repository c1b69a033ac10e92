"""Work around quirks of fairseq and torch: one quirk a file, which says what it is and when the file can go."""
