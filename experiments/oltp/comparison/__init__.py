"""The parts of compare.py: what is run (plan), the table.

experiments/common has the parts shared with other benchmarks.
"""
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
