"""Estimates: class probabilities from the leaves of grown forests.

    encoded rows  →  growth plan  →  grown forest  →  estimate

An estimate does not depend on the classifier that uses it. It predicts queries, predicts training rows by the trees
that have not seen them, counts later rows, and can be joined with other estimates.
"""
