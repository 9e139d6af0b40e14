"""Certificates: how good a plane is, measured from the original data by code that imports no solver."""
