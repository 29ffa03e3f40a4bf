"""The colours of all pictures: those of displays, and those of reports, which are drawn without scikit-learn."""

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
