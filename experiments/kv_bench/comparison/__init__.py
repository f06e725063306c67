"""The parts of compare.py: what is run (plan), under which memory cap, what the device can do, tables."""
