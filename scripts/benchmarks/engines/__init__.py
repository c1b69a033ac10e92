"""CTranslate2 against fairseq's generator: translations and speed."""
