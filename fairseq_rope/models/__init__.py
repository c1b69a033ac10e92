"""The models that `--arch` names."""
