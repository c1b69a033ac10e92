"""The grammar behind the embedded corpus: meanings, and how English and German say them."""
