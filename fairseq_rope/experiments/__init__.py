"""What a recipe left in its work folder, as statistics and tables."""
