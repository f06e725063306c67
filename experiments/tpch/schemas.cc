#include "experiments/tpch/schemas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

namespace palimpsest::experiments::tpch {
namespace {

using Columns = std::vector<ColumnDefinition>;

constexpr DataType money() noexcept {
  return types::decimal(12, 2);
}

Columns columns_of(TableId table) {
  using namespace palimpsest::types;
  switch (table) {
    case TableId::region:
      return {{"r_regionkey", int32()}, {"r_name", character(25)}, {"r_comment", varchar(152)}};
    case TableId::nation:
      return {{"n_nationkey", int32()},
              {"n_name", character(25)},
              {"n_regionkey", int32()},
              {"n_comment", varchar(152)}};
    case TableId::supplier:
      return {{"s_suppkey", int32()},     {"s_name", character(25)},  {"s_address", varchar(40)},
              {"s_nationkey", int32()},   {"s_phone", character(15)}, {"s_acctbal", money()},
              {"s_comment", varchar(101)}};
    case TableId::customer:
      return {{"c_custkey", int32()},          {"c_name", varchar(25)},
              {"c_address", varchar(40)},      {"c_nationkey", int32()},
              {"c_phone", character(15)},      {"c_acctbal", money()},
              {"c_mktsegment", character(10)}, {"c_comment", varchar(117)}};
    case TableId::part:
      return {
          {"p_partkey", int32()},         {"p_name", varchar(55)},    {"p_mfgr", character(25)},
          {"p_brand", character(10)},     {"p_type", varchar(25)},    {"p_size", int32()},
          {"p_container", character(10)}, {"p_retailprice", money()}, {"p_comment", varchar(23)}};
    case TableId::partsupp:
      return {{"ps_partkey", int32()},
              {"ps_suppkey", int32()},
              {"ps_availqty", int32()},
              {"ps_supplycost", money()},
              {"ps_comment", varchar(199)}};
    case TableId::orders:
      return {{"o_orderkey", int64()},         {"o_custkey", int32()},
              {"o_orderstatus", character(1)}, {"o_totalprice", money()},
              {"o_orderdate", date()},         {"o_orderpriority", character(15)},
              {"o_clerk", character(15)},      {"o_shippriority", int32()},
              {"o_comment", varchar(79)}};
    case TableId::lineitem:
      return {{"l_orderkey", int64()},        {"l_partkey", int32()},
              {"l_suppkey", int32()},         {"l_linenumber", int32()},
              {"l_quantity", money()},        {"l_extendedprice", money()},
              {"l_discount", money()},        {"l_tax", money()},
              {"l_returnflag", character(1)}, {"l_linestatus", character(1)},
              {"l_shipdate", date()},         {"l_commitdate", date()},
              {"l_receiptdate", date()},      {"l_shipinstruct", character(25)},
              {"l_shipmode", character(10)},  {"l_comment", varchar(44)}};
  }
  return {};
}

std::vector<std::string> key_of(TableId table, const Columns& columns) {
  switch (table) {
    case TableId::partsupp: return {"ps_partkey", "ps_suppkey"};
    case TableId::lineitem: return {"l_orderkey", "l_linenumber"};
    default: return {columns.front().name};
  }
}

Table table_of(const Database& database, TableId table) {
  return database.table(name_of(table));
}

}  // namespace

TableSchema schema_of(TableId table) {
  Columns columns = columns_of(table);
  std::vector<std::string> key = key_of(table, columns);
  return {
      .name = std::string(name_of(table)), .columns = std::move(columns), .key = std::move(key)};
}

std::string schema_text(TableId table) {
  const TableSchema schema = schema_of(table);
  std::string text;
  for (const ColumnDefinition& column : schema.columns) {
    text += fmt::format("{} {}, ", column.name, text_of(column.type));
  }
  return text + fmt::format("primary key ({})", fmt::join(schema.key, ", "));
}

Tables::Tables(const Database& database)
    : region(table_of(database, TableId::region), {{"r_regionkey", &RegionRow::key},
                                                   {"r_name", &RegionRow::name},
                                                   {"r_comment", &RegionRow::comment}}),
      nation(table_of(database, TableId::nation), {{"n_nationkey", &NationRow::key},
                                                   {"n_name", &NationRow::name},
                                                   {"n_regionkey", &NationRow::region},
                                                   {"n_comment", &NationRow::comment}}),
      supplier(table_of(database, TableId::supplier), {{"s_suppkey", &SupplierRow::key},
                                                       {"s_name", &SupplierRow::name},
                                                       {"s_address", &SupplierRow::address},
                                                       {"s_nationkey", &SupplierRow::nation},
                                                       {"s_phone", &SupplierRow::phone},
                                                       {"s_acctbal", &SupplierRow::balance},
                                                       {"s_comment", &SupplierRow::comment}}),
      customer(table_of(database, TableId::customer), {{"c_custkey", &CustomerRow::key},
                                                       {"c_name", &CustomerRow::name},
                                                       {"c_address", &CustomerRow::address},
                                                       {"c_nationkey", &CustomerRow::nation},
                                                       {"c_phone", &CustomerRow::phone},
                                                       {"c_acctbal", &CustomerRow::balance},
                                                       {"c_mktsegment", &CustomerRow::segment},
                                                       {"c_comment", &CustomerRow::comment}}),
      part(table_of(database, TableId::part), {{"p_partkey", &PartRow::key},
                                               {"p_name", &PartRow::name},
                                               {"p_mfgr", &PartRow::manufacturer},
                                               {"p_brand", &PartRow::brand},
                                               {"p_type", &PartRow::type},
                                               {"p_size", &PartRow::size},
                                               {"p_container", &PartRow::container},
                                               {"p_retailprice", &PartRow::retail_price},
                                               {"p_comment", &PartRow::comment}}),
      partsupp(table_of(database, TableId::partsupp), {{"ps_partkey", &PartSuppRow::part},
                                                       {"ps_suppkey", &PartSuppRow::supplier},
                                                       {"ps_availqty", &PartSuppRow::available},
                                                       {"ps_supplycost", &PartSuppRow::cost},
                                                       {"ps_comment", &PartSuppRow::comment}}),
      orders(table_of(database, TableId::orders), {{"o_orderkey", &OrderRow::key},
                                                   {"o_custkey", &OrderRow::customer},
                                                   {"o_orderstatus", &OrderRow::status},
                                                   {"o_totalprice", &OrderRow::total_price},
                                                   {"o_orderdate", &OrderRow::date},
                                                   {"o_orderpriority", &OrderRow::priority},
                                                   {"o_clerk", &OrderRow::clerk},
                                                   {"o_shippriority", &OrderRow::ship_priority},
                                                   {"o_comment", &OrderRow::comment}}),
      lineitem(table_of(database, TableId::lineitem),
               {{"l_orderkey", &LineItemRow::order},
                {"l_partkey", &LineItemRow::part},
                {"l_suppkey", &LineItemRow::supplier},
                {"l_linenumber", &LineItemRow::line},
                {"l_quantity", &LineItemRow::quantity},
                {"l_extendedprice", &LineItemRow::extended_price},
                {"l_discount", &LineItemRow::discount},
                {"l_tax", &LineItemRow::tax},
                {"l_returnflag", &LineItemRow::return_flag},
                {"l_linestatus", &LineItemRow::line_status},
                {"l_shipdate", &LineItemRow::ship_date},
                {"l_commitdate", &LineItemRow::commit_date},
                {"l_receiptdate", &LineItemRow::receipt_date},
                {"l_shipinstruct", &LineItemRow::instructions},
                {"l_shipmode", &LineItemRow::mode},
                {"l_comment", &LineItemRow::comment}}) {}

}  // namespace palimpsest::experiments::tpch
