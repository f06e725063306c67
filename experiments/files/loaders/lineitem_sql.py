"""The table lineitem in SQL, and the sums that describe its contents."""

COLUMNS = """l_orderkey bigint NOT NULL, l_partkey integer NOT NULL, l_suppkey integer NOT NULL,
    l_linenumber integer NOT NULL, l_quantity decimal(12,2) NOT NULL,
    l_extendedprice decimal(12,2) NOT NULL, l_discount decimal(12,2) NOT NULL,
    l_tax decimal(12,2) NOT NULL, l_returnflag varchar(1) NOT NULL, l_linestatus varchar(1) NOT NULL,
    l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
    l_shipinstruct varchar(25) NOT NULL, l_shipmode varchar(10) NOT NULL,
    l_comment varchar(44) NOT NULL"""
KEY = "PRIMARY KEY (l_orderkey, l_linenumber)"
SUMS = "count(*), sum(l_orderkey), sum({cents}), sum(length(l_comment)) FROM lineitem"


def select_sums(cents):
    """`cents`: the price in them, as an integer."""
    return "SELECT " + SUMS.format(cents=cents)


def content_of(line):
    """Parses the answer of that query, with bars between the columns."""
    rows, order_keys, price_cents, comment_bytes = (int(each) for each in line.strip().split("|"))
    return {"rows": rows, "order_keys": order_keys, "price_cents": price_cents,
            "comment_bytes": comment_bytes}
