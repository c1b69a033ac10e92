"""The rotary model against fairseq's own: speed and memory."""
