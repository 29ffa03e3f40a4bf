"""Figures: charts as data, made from records, and drawn on paper or on a screen. No learner is run here."""
