"""The league: methods that reduce dimensions, compared at an equal number of components without leaks.

:func:`kdrbench.suite.systems.league.protocol.play` makes the rows, :mod:`.judges` score a projection. :class:`.Scores`
arranges the results, and its module decides which methods differ. Names are imported from these modules, as
scikit-learn, which two of them need, takes a second to load.
"""
