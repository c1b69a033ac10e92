"""eole, another toolkit with a rotary encoder-decoder, on the text and with the settings of run_multi30k.sh."""
