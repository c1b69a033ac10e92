# For tools that look for this file; all that it would say stands in pyproject.toml.
from setuptools import setup

setup()
