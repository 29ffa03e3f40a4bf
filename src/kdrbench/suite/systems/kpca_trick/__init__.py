"""The KPCA trick: metric learners as they are and with chosen kernels, on random splits of each data set."""
