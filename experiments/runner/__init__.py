"""The parts of run.py: named experiments (catalogue), the machine (environment), stored results (record), their
presentation (tables, plot).

A set holds the runs of an experiment: a directory with runs.csv, a line for each run, and a directory for each
run.
"""
