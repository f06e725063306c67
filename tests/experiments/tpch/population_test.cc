// The rows of TPC-H against the specification, all of them at scale factor 0.01: keys, derived
// columns, references, distributions, and that they depend on nothing but seed and number.
#include "experiments/tpch/population.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/tpch/words.h"
#include "tests/experiments/chi_square.h"
#include "tests/support/thread_group.h"

namespace palimpsest::experiments::tpch {
namespace {

using experiments::test::Counts;

const Population& population() {
  static const Population made(1, Scale(0.01));
  return made;
}

template <class Row>
std::vector<Row> all(std::uint64_t count, const Population& from = population()) {
  std::vector<Row> rows(count);
  for (std::uint64_t number = 0; number < count; ++number) {
    from.make(number, rows[number]);
  }
  return rows;
}

const std::vector<Order>& orders() {
  static const std::vector<Order> made = all<Order>(population().scale().orders());
  return made;
}

std::int64_t cents(const Decimal& money) {
  EXPECT_EQ(money.scale(), 2U);
  return static_cast<std::int64_t>(money.unscaled());
}

std::int32_t day(std::string_view text) {
  return Date::parse(text).value().days_since_1970();
}

template <class Words>
std::int64_t index_of(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) - words.begin();
}

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

bool is_between(std::size_t size, std::size_t low, std::size_t high) {
  return low <= size && size <= high;
}

void expect_phone(const std::string& phone, std::int32_t nation) {
  static const std::regex form("[1-9][0-9]-[1-9][0-9]{2}-[1-9][0-9]{2}-[1-9][0-9]{3}");
  EXPECT_TRUE(std::regex_match(phone, form)) << phone;
  EXPECT_EQ(std::stoi(phone), nation + 10);
}

TEST(TpchPopulation, RegionsAndNations) {
  const auto regions = all<RegionRow>(kRegions);
  EXPECT_EQ(regions[0].name, "AFRICA");
  EXPECT_EQ(regions[4].name, "MIDDLE EAST");
  std::map<std::string, std::set<std::string>> nations;
  for (const NationRow& nation : all<NationRow>(kNations)) {
    ASSERT_TRUE(is_between(nation.comment.size(), 31, 114));
    nations[regions.at(static_cast<std::size_t>(nation.region)).name].insert(nation.name);
  }
  using Names = std::set<std::string>;
  EXPECT_EQ(nations["AFRICA"], (Names{"ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"}));
  EXPECT_EQ(nations["AMERICA"], (Names{"ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"}));
  EXPECT_EQ(nations["ASIA"], (Names{"INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"}));
  EXPECT_EQ(nations["EUROPE"], (Names{"FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"}));
  EXPECT_EQ(nations["MIDDLE EAST"], (Names{"EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"}));
}

TEST(TpchPopulation, Suppliers) {
  const Population large(1, Scale(0.4));
  Counts nations(kNations);
  for (const SupplierRow& row : all<SupplierRow>(4000, large)) {
    ASSERT_EQ(row.name.size(), 18U);
    EXPECT_EQ(row.name.substr(0, 9), "Supplier#");
    EXPECT_EQ(std::stoi(row.name.substr(9)), row.key);
    EXPECT_TRUE(is_between(row.address.size(), 10, 40));
    EXPECT_TRUE(is_between(row.comment.size(), 25, 100));
    EXPECT_GE(cents(row.balance), -999'99);
    EXPECT_LE(cents(row.balance), 9'999'99);
    expect_phone(row.phone, row.nation);
    nations.add(row.nation);
  }
  nations.expect_uniform();
}

TEST(TpchPopulation, SomeSuppliersAreComplainedOfAndSomeRecommended) {
  for (const auto& [factor, expected] : {std::pair(0.01, 1), std::pair(1.0, 5)}) {
    const Population suppliers(3, Scale(factor));
    static const std::regex complaints("Customer.*Complaints");
    static const std::regex recommends("Customer.*Recommends");
    int complained = 0;
    int recommended = 0;
    SupplierRow row;
    for (std::uint64_t number = 0; number < suppliers.scale().suppliers(); ++number) {
      suppliers.make(number, row);
      complained += std::regex_search(row.comment, complaints) ? 1 : 0;
      recommended += std::regex_search(row.comment, recommends) ? 1 : 0;
      ASSERT_TRUE(is_between(row.comment.size(), 25, 100));
    }
    EXPECT_EQ(complained, expected);
    EXPECT_EQ(recommended, expected);
  }
}

TEST(TpchPopulation, Customers) {
  Counts nations(kNations);
  Counts segments(kSegments.size());
  Counts lengths(31);
  std::set<char> characters;
  for (const CustomerRow& row : all<CustomerRow>(population().scale().customers())) {
    EXPECT_EQ(row.name.substr(0, 9), "Customer#");
    EXPECT_EQ(std::stoi(row.name.substr(9)), row.key);
    EXPECT_TRUE(is_between(row.comment.size(), 29, 116));
    expect_phone(row.phone, row.nation);
    nations.add(row.nation);
    segments.add(index_of(kSegments, row.segment));
    lengths.add(static_cast<std::int64_t>(row.address.size()) - 10);
    characters.insert(row.address.begin(), row.address.end());
  }
  nations.expect_uniform();
  segments.expect_uniform();
  lengths.expect_uniform();
  EXPECT_EQ(characters.size(), 64U);
  EXPECT_FALSE(characters.contains('|'));
}

TEST(TpchPopulation, Parts) {
  Counts sizes(50);
  Counts brands(25);
  Counts types(150);
  Counts containers(40);
  Counts colours(kColours.size());
  for (const PartRow& row : all<PartRow>(population().scale().parts())) {
    const auto name = split(row.name);
    ASSERT_EQ(name.size(), 5U) << row.name;
    EXPECT_EQ(std::set<std::string>(name.begin(), name.end()).size(), 5U) << row.name;
    colours.add(index_of(kColours, name.front()));
    EXPECT_EQ(row.manufacturer, "Manufacturer#" + row.brand.substr(6, 1));
    brands.add((row.brand.at(6) - '1') * 5 + row.brand.at(7) - '1');
    const auto type = split(row.type);
    ASSERT_EQ(type.size(), 3U) << row.type;
    types.add((index_of(kTypeSizes, type[0]) * 5 + index_of(kTypeFinishes, type[1])) * 5 +
              index_of(kTypeMetals, type[2]));
    const auto container = split(row.container);
    ASSERT_EQ(container.size(), 2U) << row.container;
    containers.add(index_of(kContainerSizes, container[0]) * 8 +
                   index_of(kContainerKinds, container[1]));
    sizes.add(row.size - 1);
    const std::int64_t key = row.key;
    EXPECT_EQ(cents(row.retail_price), 90'000 + ((key / 10) % 20'001) + 100 * (key % 1'000));
    EXPECT_TRUE(is_between(row.comment.size(), 5, 22));
  }
  for (const Counts& counts : {sizes, brands, types, containers, colours}) {
    counts.expect_uniform();
  }
}

TEST(TpchPopulation, PartsHaveFourSuppliers) {
  const auto suppliers = static_cast<std::int64_t>(population().scale().suppliers());
  std::set<std::pair<std::int32_t, std::int32_t>> keys;
  std::map<std::int32_t, int> parts_of_supplier;
  Counts available(9999);
  std::int64_t number = 0;
  for (const PartSuppRow& row : all<PartSuppRow>(population().scale().rows(TableId::partsupp))) {
    const std::int64_t part = number / 4 + 1;
    const std::int64_t choice = number % 4;
    ++number;
    EXPECT_EQ(row.part, part);
    EXPECT_EQ(row.supplier,
              (part + choice * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1);
    EXPECT_TRUE(keys.emplace(row.part, row.supplier).second);
    ++parts_of_supplier[row.supplier];
    available.add(row.available - 1);
    EXPECT_GE(cents(row.cost), 1'00);
    EXPECT_LE(cents(row.cost), 1'000'00);
    EXPECT_TRUE(is_between(row.comment.size(), 49, 198));
  }
  available.expect_uniform();
  EXPECT_EQ(parts_of_supplier.size(), 100U);
  for (const auto& [supplier, parts] : parts_of_supplier) {
    EXPECT_EQ(parts, 80) << supplier;
  }
}

TEST(TpchPopulation, OrderKeysAreSparse) {
  std::set<std::int64_t> places;
  std::int64_t last = 0;
  for (const Order& order : orders()) {
    EXPECT_GT(order.row.key, last);
    last = order.row.key;
    places.insert(last % 32);
  }
  EXPECT_EQ(places, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(orders().front().row.key, 1);
  EXPECT_EQ(orders().at(6).row.key, 7);
  EXPECT_EQ(orders().at(7).row.key, 32);
  EXPECT_EQ(orders().back().row.key, 60'000);
}

TEST(TpchPopulation, OrdersRefer) {
  const auto customers = static_cast<std::int32_t>(population().scale().customers());
  std::set<std::int32_t> buyers;
  std::set<std::string> clerks;
  Counts priorities(kPriorities.size());
  const std::int32_t first = day("1992-01-01");
  Counts dates(static_cast<std::size_t>(day("1998-08-02") - first + 1));
  for (const Order& order : orders()) {
    const OrderRow& row = order.row;
    EXPECT_GE(row.customer, 1);
    EXPECT_LE(row.customer, customers);
    EXPECT_NE(row.customer % 3, 0) << "has no orders";
    buyers.insert(row.customer);
    clerks.insert(row.clerk);
    priorities.add(index_of(kPriorities, row.priority));
    dates.add(row.date.days_since_1970() - first);
    EXPECT_EQ(row.ship_priority, 0);
    EXPECT_TRUE(is_between(row.comment.size(), 19, 78));
  }
  EXPECT_EQ(buyers.size(), 1000U) << "two thirds of the customers, each with orders";
  EXPECT_EQ(*clerks.begin(), "Clerk#000000001");
  EXPECT_EQ(clerks.size(), 10U);
  priorities.expect_uniform();
  dates.expect_uniform();
}

TEST(TpchPopulation, BuyersAreUniform) {
  Counts buyers(1000);
  for (const Order& order : orders()) {
    buyers.add(order.row.customer / 3 * 2 + order.row.customer % 3 - 1);
  }
  buyers.expect_uniform();
}

TEST(TpchPopulation, OrdersAreTheSumOfTheirLines) {
  std::map<char, int> statuses;
  for (const Order& order : orders()) {
    ASSERT_TRUE(is_between(order.lines().size(), 1, 7));
    std::set<char> lines;
    std::int64_t total = 0;  // in hundredths of hundredths of cents
    for (const LineItemRow& line : order.lines()) {
      lines.insert(line.line_status[0]);
      total += cents(line.extended_price) * (100 - cents(line.discount)) * (100 + cents(line.tax));
    }
    const char status = lines.size() == 2 ? 'P' : *lines.begin();
    ASSERT_EQ(order.row.status[0], status) << order.row.key;
    ASSERT_LE(std::abs(cents(order.row.total_price) * 10'000 - total), 5'000) << order.row.key;
    ++statuses[status];
  }
  // Of 2406 days of orders, those until the middle of 1995 are past.
  EXPECT_NEAR(statuses['F'] / 15'000.0, 0.487, 0.02);
  EXPECT_NEAR(statuses['P'] / 15'000.0, 0.026, 0.01);
}

TEST(TpchPopulation, Lines) {
  const std::int32_t today = day("1995-06-17");
  std::map<char, int> flags;
  std::uint64_t count = 0;
  for (const Order& order : orders()) {
    std::int32_t number = 0;
    for (const LineItemRow& line : order.lines()) {
      ++count;
      EXPECT_EQ(line.order, order.row.key);
      EXPECT_EQ(line.line, ++number);
      const std::int64_t part = line.part;
      const std::int64_t price = 90'000 + ((part / 10) % 20'001) + 100 * (part % 1'000);
      EXPECT_EQ(cents(line.extended_price) * 100, cents(line.quantity) * price);
      const std::int32_t shipped = line.ship_date.days_since_1970();
      const std::int32_t received = line.receipt_date.days_since_1970();
      EXPECT_EQ(line.line_status[0], shipped > today ? 'O' : 'F');
      const bool is_new = line.return_flag[0] == 'N';
      EXPECT_EQ(is_new, received > today);
      EXPECT_TRUE(is_new || line.return_flag[0] == 'R' || line.return_flag[0] == 'A');
      ++flags[line.return_flag[0]];
      EXPECT_LE(received, day("1998-12-31"));
    }
  }
  EXPECT_NEAR(static_cast<double>(count), 60'000, 600);
  EXPECT_EQ(count, 59'915U) << "also in the README";
  EXPECT_NEAR(static_cast<double>(flags['R']) / flags['A'], 1, 0.05);
}

TEST(TpchPopulation, LinesAreUniform) {
  Counts lines_of_order(7);
  Counts quantities(50);
  Counts discounts(11);
  Counts taxes(9);
  Counts ships(121);
  Counts commits(61);
  Counts receipts(30);
  Counts instructions(kInstructions.size());
  Counts modes(kModes.size());
  Counts parts(population().scale().parts());
  Counts comments(34);
  for (const Order& order : orders()) {
    lines_of_order.add(static_cast<std::int64_t>(order.line_count) - 1);
    const std::int32_t ordered = order.row.date.days_since_1970();
    for (const LineItemRow& line : order.lines()) {
      EXPECT_EQ(cents(line.quantity) % 100, 0);
      quantities.add(cents(line.quantity) / 100 - 1);
      discounts.add(cents(line.discount));
      taxes.add(cents(line.tax));
      ships.add(line.ship_date.days_since_1970() - ordered - 1);
      commits.add(line.commit_date.days_since_1970() - ordered - 30);
      receipts.add(line.receipt_date.days_since_1970() - line.ship_date.days_since_1970() - 1);
      instructions.add(index_of(kInstructions, line.instructions));
      modes.add(index_of(kModes, line.mode));
      parts.add(line.part - 1);
      comments.add(static_cast<std::int64_t>(line.comment.size()) - 10);
    }
  }
  for (const Counts& counts : {lines_of_order, quantities, discounts, taxes, ships, commits,
                               receipts, instructions, modes, parts, comments}) {
    counts.expect_uniform();
  }
}

TEST(TpchPopulation, LinesAreOfSuppliersThatHaveThePart) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> choices;
  std::int64_t number = 0;
  for (const PartSuppRow& row : all<PartSuppRow>(population().scale().rows(TableId::partsupp))) {
    choices[{row.part, row.supplier}] = number++ % 4;
  }
  Counts chosen(4);
  for (const Order& order : orders()) {
    for (const LineItemRow& line : order.lines()) {
      const auto found = choices.find({line.part, line.supplier});
      ASSERT_NE(found, choices.end()) << line.part << " of " << line.supplier;
      chosen.add(found->second);
    }
  }
  chosen.expect_uniform();
}

template <class Row>
void expect_independent(std::uint64_t count) {
  const auto forwards = all<Row>(count);
  std::vector<Row> backwards(count);
  palimpsest::test::run_threads(3, [&](std::size_t thread) {
    for (std::uint64_t number = count; number-- > 0;) {
      if (number % 3 == thread) {
        population().make(number, backwards[number]);
      }
    }
  });
  EXPECT_TRUE(forwards == backwards);
  Row other;
  Population(2, Scale(0.01)).make(count / 2, other);
  EXPECT_FALSE(other == forwards[count / 2]) << "of another seed";
}

bool operator==(const Order& left, const Order& right) {
  return left.row == right.row && std::ranges::equal(left.lines(), right.lines());
}

TEST(TpchPopulation, RowsDependOnNothingElse) {
  expect_independent<RegionRow>(kRegions);
  expect_independent<NationRow>(kNations);
  expect_independent<SupplierRow>(100);
  expect_independent<CustomerRow>(1000);
  expect_independent<PartRow>(1000);
  expect_independent<PartSuppRow>(1000);
  const auto again = all<Order>(1000);
  Order order;
  for (const std::uint64_t number : {999U, 3U, 500U, 0U}) {
    population().make(number, order);  // over the lines of another order
    EXPECT_TRUE(order == again[number]) << number;
  }
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
