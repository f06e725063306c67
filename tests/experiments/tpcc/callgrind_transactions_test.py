"""Tests of callgrind_transactions.py: reading callgrind's file, and what functions are for."""
import contextlib
import io
import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "experiments", "tpcc"))
from callgrind_transactions import REST, Profile, group_of, report  # noqa: E402

# Two transactions, each of which commits once; commit() appends three times in all.
FILE = """\
version: 1
events: Ir
fn=(1) palimpsest::experiments::tpcc::run<X>(X&)
fi=(1) a.h
10 100
+2 20
cfn=(2) palimpsest::Transaction::commit()
calls=2 30
12 75
fn=(2)
* 15
cfn=(3) palimpsest::wal::TransactionLog::append_commit()
calls=3 40
31 60
fn=(3)
40 60
summary: 195
"""


class ProfileTest(unittest.TestCase):
    def setUp(self):
        self.profile = Profile(FILE.splitlines(keepends=True))

    def test_own_costs_leave_out_callees(self):
        self.assertEqual(sorted(self.profile.own.values()), [15, 60, 120])

    def test_operations_have_their_callees(self):
        self.assertEqual(self.profile.operation("palimpsest::Transaction::commit("), (2, 75))
        self.assertEqual(self.profile.operation("palimpsest::wal::"), (3, 60))
        self.assertEqual(self.profile.operation("none"), (0, 0))

    def test_the_report_is_of_one_transaction(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            report(self.profile)
        text = out.getvalue()
        self.assertIn("98 instructions a transaction, of 2 transactions", text)
        self.assertIn("| log records | 30 | 31 % |", text)
        self.assertIn("| commit | 1.00 | 38 |", text)


class GroupTest(unittest.TestCase):
    def test_functions_are_for_something(self):
        for name, group in {
                "palimpsest::btree::InnerView::search(x) const": "searches",
                "palimpsest::btree::LoggedUpdate::encode(x) const": "log records",
                "palimpsest::btree::LeafNode::insert(x)": "changes of leaves",
                "palimpsest::versioning::Writer::prepare(x)": "claims",
                "palimpsest::experiments::decode_row<Y>(x)": "the workload",
                "palimpsest::engine::TableReader::find(x)": "tables",
                "__memcpy_avx_unaligned_erms": "copies",
                "main": REST}.items():
            self.assertTrue(group_of(name).startswith(group), f"{name}: {group_of(name)}")


if __name__ == "__main__":
    unittest.main()
