"""How much a message may hold, and how large its numbers may be."""

__all__ = ["LARGEST", "LIMITS", "NAME", "SMALLEST"]

LIMITS = {
    "points": 2_000,
    "classes": 5,
    "updates": 5_000,
    "epochs": 10_000,
    "seed": 2**32 - 1,
    "table_rows": 20_000,
    "table_columns": 200,
    "message": 4 << 20,
    "seconds": 10,
}
LARGEST = 1e30  # of any number in a message: products of some of them stay within the range of doubles
SMALLEST = 1 / LARGEST  # of coordinates that are not 0, for the same reason
NAME = 60  # letters of a name
