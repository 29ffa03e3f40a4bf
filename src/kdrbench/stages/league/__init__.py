"""The league of methods that reduce dimensions, as a system of the benchmark."""
