"""The fewest errors of any plane, with a proof.

A plane has row i right if a_i·z > 0. Rows that cancel with positive weights, a *witness*, are not all
right for any plane; and whatever rows hit all witnesses, the others can be separated (Gordan 1873). So
the fewest errors are the smallest set of rows that hits every witness: NP-hard, but often small.

==============  ==============================================================================
``witnesses``   the different rows, and the witnesses among them that have been found
``packing``     fractional packings of witnesses: a lower bound with a proof
``branching``   branch and bound: a row is wrong, or it is right
``sweep``       all planes in up to three coordinates
==============  ==============================================================================
"""
