#include "experiments/tpch/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "base/check.h"
#include "experiments/common/mix.h"
#include "experiments/tpch/words.h"

namespace palimpsest::experiments::tpch {

/// The uses of random numbers: no two uses share a sequence.
enum class Population::Stream : std::uint8_t {
  prose = 1,
  region,
  nation,
  supplier,
  critics,
  customer,
  part,
  partsupp,
  order,
};

namespace {

using namespace std::chrono_literals;

constexpr Date kFirstDay = Date::of(1992y / 1 / 1);
constexpr Date kCurrentDay = Date::of(1995y / 6 / 17);
constexpr Date kLastDay = Date::of(1998y / 12 / 31);
/// The last order is made so long before the last day that its lines have arrived by then.
constexpr std::int32_t kDaysOfOrder = 151;
/// Days on which orders are made.
constexpr std::uint64_t kOrderDays = [] {
  const std::int32_t last = kLastDay.days_since_1970() - kDaysOfOrder;
  return static_cast<std::uint64_t>(last + 1 - kFirstDay.days_since_1970());
}();

constexpr Date later(Date date, std::uint64_t days) noexcept {
  return Date(date.days_since_1970() + static_cast<std::int32_t>(days));
}

constexpr Decimal money(Cents cents) {
  return Decimal::of(cents, 2);
}

template <std::size_t kSize>
std::string_view one_of(Random& random, const std::array<std::string_view, kSize>& words) noexcept {
  return words[random.below(kSize)];
}

std::int32_t number_between(Random& random, std::uint64_t low, std::uint64_t high) noexcept {
  return static_cast<std::int32_t>(random.between(low, high));
}

/// "Supplier#000000007"
void assign_numbered(std::string& into, std::string_view prefix, std::uint64_t number) {
  into.assign(prefix);
  into += fmt::format("#{:09}", number);
}

/// A random v-string: 10 to 40 of 64 characters (clause 4.2.2.7).
void assign_address(std::string& into, Random& random) {
  constexpr std::string_view kCharacters =
      "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
  static_assert(kCharacters.size() == 64);
  constexpr unsigned kBits = 6;
  constexpr std::size_t kCharactersOfWord = 64 / kBits;
  into.resize(random.between(10, 40));
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < into.size(); ++i) {
    word = i % kCharactersOfWord == 0 ? random() : word >> kBits;
    into[i] = kCharacters[word % kCharacters.size()];
  }
}

/// The country's code comes first (clause 4.2.2.9).
void assign_phone(std::string& into, Random& random, std::int32_t nation) {
  const std::uint64_t area = random.between(100, 999);
  const std::uint64_t exchange = random.between(100, 999);
  const std::uint64_t line = random.between(1000, 9999);
  into.clear();
  into += fmt::format("{}-{}-{}-{}", nation + 10, area, exchange, line);
}

Decimal random_balance(Random& random) {
  return money(static_cast<Cents>(random.between(0, 999'99 + 9'999'99)) - 999'99);
}

/// Five different ones, with spaces between them.
void assign_colours(std::string& into, Random& random) {
  constexpr std::size_t kColoursOfName = 5;
  std::array<std::size_t, kColoursOfName> chosen;
  into.clear();
  for (std::size_t count = 0; count < kColoursOfName;) {
    const std::size_t colour = random.below(kColours.size());
    if (std::find(chosen.begin(), chosen.begin() + count, colour) != chosen.begin() + count) {
      continue;
    }
    chosen[count++] = colour;
    into.append(into.empty() ? "" : " ").append(kColours[colour]);
  }
}

/// Writes "Customer", and after it `word`, into a comment, at random positions.
void write_criticism(std::string& comment, Random& random, std::string_view word) {
  constexpr std::string_view kCustomer = "Customer";
  const std::size_t room = comment.size() - kCustomer.size() - word.size();
  const std::size_t before = random.between(0, room);
  const std::size_t between = random.between(0, room - before);
  comment.replace(before, kCustomer.size(), kCustomer);
  comment.replace(before + kCustomer.size() + between, word.size(), word);
}

/// Finished, open, or partly so, by the lines.
char status_of(std::span<const LineItemRow> lines) noexcept {
  const auto is_open = [](const LineItemRow& line) { return line.line_status[0] == 'O'; };
  const auto open = std::count_if(lines.begin(), lines.end(), is_open);
  if (open == 0) {
    return 'F';
  }
  return open == std::ssize(lines) ? 'O' : 'P';
}

}  // namespace

Population::Population(std::uint64_t seed, const Scale& scale)
    : seed_(seed),
      scale_(scale),
      prose_(stream_seed(Stream::prose, 0)),
      critics_(scale.suppliers(), stream_seed(Stream::critics, 0)) {}

std::uint64_t Population::stream_seed(Stream stream, std::uint64_t number) const noexcept {
  return mix64(mix64(seed_ + static_cast<std::uint64_t>(stream)) ^ mix64(number));
}

void Population::make(std::uint64_t number, RegionRow& into) const {
  Random random(stream_seed(Stream::region, number));
  into.key = static_cast<std::int32_t>(number);
  into.name = kRegionNames.at(number);
  into.comment = prose_.piece(random, 31, 115);
}

void Population::make(std::uint64_t number, NationRow& into) const {
  Random random(stream_seed(Stream::nation, number));
  const Nation& nation = kNationNames.at(number);
  into.key = static_cast<std::int32_t>(number);
  into.name = nation.name;
  into.region = nation.region;
  into.comment = prose_.piece(random, 31, 114);
}

void Population::make(std::uint64_t number, SupplierRow& into) const {
  Random random(stream_seed(Stream::supplier, number));
  into.key = static_cast<std::int32_t>(number + 1);
  assign_numbered(into.name, "Supplier", number + 1);
  assign_address(into.address, random);
  into.nation = number_between(random, 0, kNations - 1);
  assign_phone(into.phone, random, into.nation);
  into.balance = random_balance(random);
  into.comment = prose_.piece(random, 25, 100);
  const std::uint64_t rank = critics_(number);
  if (rank < scale_.complaints()) {
    write_criticism(into.comment, random, "Complaints");
  } else if (rank < 2 * scale_.complaints()) {
    write_criticism(into.comment, random, "Recommends");
  }
}

void Population::make(std::uint64_t number, CustomerRow& into) const {
  Random random(stream_seed(Stream::customer, number));
  into.key = static_cast<std::int32_t>(number + 1);
  assign_numbered(into.name, "Customer", number + 1);
  assign_address(into.address, random);
  into.nation = number_between(random, 0, kNations - 1);
  assign_phone(into.phone, random, into.nation);
  into.balance = random_balance(random);
  into.segment = one_of(random, kSegments);
  into.comment = prose_.piece(random, 29, 116);
}

void Population::make(std::uint64_t number, PartRow& into) const {
  Random random(stream_seed(Stream::part, number));
  into.key = static_cast<std::int32_t>(number + 1);
  assign_colours(into.name, random);
  const std::uint64_t manufacturer = random.between(1, 5);
  const std::uint64_t brand = random.between(1, 5);
  into.manufacturer.clear();
  into.manufacturer += fmt::format("Manufacturer#{}", manufacturer);
  into.brand.clear();
  into.brand += fmt::format("Brand#{}{}", manufacturer, brand);
  into.type.assign(one_of(random, kTypeSizes)).append(" ");
  into.type.append(one_of(random, kTypeFinishes)).append(" ");
  into.type.append(one_of(random, kTypeMetals));
  into.size = number_between(random, 1, 50);
  into.container.assign(one_of(random, kContainerSizes)).append(" ");
  into.container.append(one_of(random, kContainerKinds));
  into.retail_price = money(retail_price(into.key));
  into.comment = prose_.piece(random, 5, 22);
}

void Population::make(std::uint64_t number, PartSuppRow& into) const {
  Random random(stream_seed(Stream::partsupp, number));
  const std::uint64_t part = number / kSuppliersOfPart + 1;
  into.part = static_cast<std::int32_t>(part);
  into.supplier =
      static_cast<std::int32_t>(supplier_of(part, number % kSuppliersOfPart, scale_.suppliers()));
  into.available = number_between(random, 1, 9999);
  into.cost = money(static_cast<Cents>(random.between(1'00, 1'000'00)));
  into.comment = prose_.piece(random, 49, 198);
}

/// Uniform among customers whose key is not a multiple of three: all other customers never order.
std::int32_t Population::random_buyer(Random& random) const noexcept {
  const std::uint64_t buyers = scale_.customers() - scale_.customers() / 3;
  const std::uint64_t buyer = random.below(buyers);
  return static_cast<std::int32_t>(buyer / 2 * 3 + buyer % 2 + 1);
}

void Population::make(std::uint64_t number, Order& into) const {
  Random random(stream_seed(Stream::order, number));
  OrderRow& row = into.row;
  row.key = order_key(number);
  row.customer = random_buyer(random);
  row.date = later(kFirstDay, random.below(kOrderDays));
  row.priority = one_of(random, kPriorities);
  assign_numbered(row.clerk, "Clerk", random.between(1, scale_.clerks()));
  row.ship_priority = 0;
  row.comment = prose_.piece(random, 19, 78);
  into.line_count = random.between(1, kLinesMax);
  std::int64_t charge = 0;  // of all lines, in hundredths of hundredths of cents
  for (std::size_t i = 0; i < into.line_count; ++i) {
    LineItemRow& line = into.line[i];
    line.order = row.key;
    line.line = static_cast<std::int32_t>(i + 1);
    make_line(random, row.date, line);
    charge += static_cast<Cents>(line.extended_price.unscaled()) *
              (100 - static_cast<Cents>(line.discount.unscaled())) *
              (100 + static_cast<Cents>(line.tax.unscaled()));
  }
  row.total_price = money((charge + 50'00) / 100'00);
  row.status[0] = status_of(into.lines());
}

void Population::make_line(Random& random, Date ordered, LineItemRow& into) const {
  const std::uint64_t part = random.between(1, scale_.parts());
  const auto quantity = static_cast<std::int64_t>(random.between(1, 50));
  into.part = static_cast<std::int32_t>(part);
  into.supplier = static_cast<std::int32_t>(
      supplier_of(part, random.below(kSuppliersOfPart), scale_.suppliers()));
  into.quantity = money(quantity * 100);
  into.extended_price = money(quantity * retail_price(into.part));
  into.discount = money(static_cast<Cents>(random.between(0, 10)));
  into.tax = money(static_cast<Cents>(random.between(0, 8)));
  into.ship_date = later(ordered, random.between(1, 121));
  into.commit_date = later(ordered, random.between(30, 90));
  into.receipt_date = later(into.ship_date, random.between(1, 30));
  const bool returned = random.one_in(2);
  into.return_flag[0] = into.receipt_date > kCurrentDay ? 'N' : (returned ? 'R' : 'A');
  into.line_status[0] = into.ship_date > kCurrentDay ? 'O' : 'F';
  into.instructions = one_of(random, kInstructions);
  into.mode = one_of(random, kModes);
  into.comment = prose_.piece(random, 10, 43);
}

}  // namespace palimpsest::experiments::tpch
