"""The parts of run.py: named experiments (catalogue), where they run (environment), what they leave
behind (record), what that comes to (tables, plot).

A set is what the runs of an experiment are kept under: a directory with runs.csv, a line a run, and a
directory for each run.
"""
