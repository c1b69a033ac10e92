"""What fairseq saves: files, their names and health, models, averages, the data folder."""
