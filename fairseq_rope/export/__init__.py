"""Trained models for other runtimes; each part needs an extra of its own."""
