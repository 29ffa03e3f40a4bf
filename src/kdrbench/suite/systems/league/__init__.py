"""The league: methods that reduce dimensions, compared at an equal number of components without leaks."""
