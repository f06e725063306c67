"""The parts of compare.py: what is run (plan), the tables.

What other benchmarks use too lies in experiments/common.
"""
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
