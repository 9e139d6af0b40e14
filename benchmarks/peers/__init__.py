"""Contests against other libraries: who takes part, on what data, how they take turns, why we lose."""
