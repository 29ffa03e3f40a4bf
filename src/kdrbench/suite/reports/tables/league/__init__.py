"""The league's tables: standings, duels and numbers by data set, controls, and what to use when."""
