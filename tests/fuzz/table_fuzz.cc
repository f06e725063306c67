// Fuzz target: any bytes as a schema, a row, a key and an index entry.
//
// Input: the first byte modulo 2 chooses. 0: the rest is a schema. 1: the seed of a random schema
// with an index (8 bytes), 2 bytes length of a row, the row, and a key. With the top bit of the
// first byte the row and key are encoded ones of the schema, changed by these bytes.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "engine/format/index_codec.h"
#include "engine/format/key_codec.h"
#include "engine/format/row_layout.h"
#include "engine/format/schema_format.h"
#include "tests/engine/format/random_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace palimpsest::engine::fuzz {
namespace {

/// Memory for any key, allocated once.
struct Room {
  std::vector<char> primary = std::vector<char>(1U << 20U);
  std::vector<char> entry = std::vector<char>(1U << 20U);
};

void require(bool holds, const char* what) {
  if (!holds) {
    fmt::print(stderr, "{}\n", what);
    std::abort();
  }
}

/// Memory of exactly these bytes, so that AddressSanitizer detects a read beyond them.
class Exactly {
 public:
  explicit Exactly(ByteView bytes) : bytes_(bytes.begin(), bytes.end()) { bytes_.shrink_to_fit(); }
  [[nodiscard]] ByteView view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

void exercise_schema(ByteView bytes) {
  try {
    const StoredTable table = decode_table(bytes);
    require(encode_table(table) == bytes, "a schema encodes to the bytes that it was");
    const RowLayout layout(table.schema);
    require(layout.column_count() == table.schema.columns.size(), "a layout of all columns");
    require(KeyCodec(table.schema).column_count() == table.schema.key.size(), "a whole key");
    for (const StoredIndex& index : table.indexes) {
      const IndexCodec codec(table.schema, index.schema);
      require(codec.is_unique() == index.schema.unique, "an index is unique or not");
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::corruption || error.code() == ErrorCode::unsupported_version,
            "a schema is refused as one from the disk");
  }
}

/// Reads all columns; nothing if one is corrupt.
std::optional<std::vector<Value>> read(const RowLayout& layout, ByteView row) {
  std::vector<Value> values(layout.column_count());
  try {
    for (std::size_t column = 0; column < values.size(); ++column) {
      if (layout.place(column).kind != PlaceKind::key) {
        values[column] = layout.value(row, column);
      }
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::corruption, "reading reports corruption only");
    return std::nullopt;
  }
  return values;
}

void exercise_row(const TableSchema& table, ByteView row) {
  const RowLayout layout(table);
  const bool valid = !layout.validate(row);
  require(!valid || layout.fits(row), "a valid row has all fixed columns");
  if (!layout.fits(row)) {
    return;
  }
  const auto values = read(layout, row);
  if (!valid) {
    return;
  }
  require(values.has_value(), "a valid row is read");
  std::string again;
  layout.encode(*values, again);
  require(again.size() == row.size(), "a valid row is encoded as long as it was");
  require(read(layout, again) == values, "a valid row comes back");
  std::string changed;
  layout.change(row, {}, changed);
  require(changed == row, "no change leaves the bytes");
}

void exercise_key(const KeyCodec& codec, ByteView key, std::vector<char>& memory) {
  DecodedKey decoded;
  const bool accepted = !codec.decode(key, decoded);
  const auto bytes = codec.bytes_of(key);
  require(!accepted || bytes == key.size() - decoded.rest().size(), "a key ends at one place");
  if (accepted) {
    const ByteView again = codec.encode(decoded.values(), memory);
    require(again == key.substr(0, *bytes), "a key encodes to the bytes that it was");
    const auto above = codec.encode_above(decoded.values(), memory);
    require(!above || *above > key.substr(0, *bytes), "a bound is above");
  }
}

void exercise_entry(const IndexCodec& codec, const IndexEntry& entry) {
  DecodedKey decoded;
  const auto primary = codec.primary_key(entry);
  if (!codec.decode(entry, decoded)) {
    require(primary.has_value(), "an entry has a primary key");
    require(codec.is_unique() ? *primary == entry.value : entry.key.ends_with(*primary),
            "an entry's primary key is a part of it");
  }
}

/// A valid encoding with some of its bytes replaced by `bytes`.
std::string changed(std::string honest, ByteView bytes) {
  for (std::size_t at = 0; at + 1 < bytes.size() && at < 16 && !honest.empty(); at += 2) {
    honest[static_cast<unsigned char>(bytes[at]) * honest.size() / 256] = bytes[at + 1];
  }
  return honest;
}

void exercise_table(bool honest, ByteView input, Room& room) {
  std::uint64_t seed = 0;
  std::uint16_t row_bytes = 0;
  if (input.size() < sizeof seed + sizeof row_bytes) {
    return;
  }
  std::memcpy(&seed, input.data(), sizeof seed);
  std::memcpy(&row_bytes, input.data() + sizeof seed, sizeof row_bytes);
  input.remove_prefix(sizeof seed + sizeof row_bytes);
  Random random(seed);
  const TableSchema table = test::random_schema(random);
  const IndexSchema index = test::random_index(random, table);
  const KeyCodec primary(table);
  const IndexCodec codec(table, index);
  std::string row(input.substr(0, row_bytes));
  std::string key(input.substr(row.size()));
  std::string entry = key;
  if (honest) {
    const test::RandomRow values = test::random_row(random, table);
    std::string encoded;
    RowLayout(table).encode(values.values, encoded);
    const ByteView encoded_key = primary.encode_row(values.values, room.primary);
    entry = changed(std::string(codec.encode(values.values, encoded_key, room.entry).key), key);
    row = changed(std::move(encoded), row);
    key = changed(std::string(encoded_key), key);
  }
  exercise_row(table, Exactly(row).view());
  exercise_key(primary, Exactly(key).view(), room.primary);
  exercise_key(codec.columns(), Exactly(entry).view(), room.entry);
  const Exactly value(codec.is_unique() ? ByteView(key) : ByteView());
  exercise_entry(codec, {.key = Exactly(entry).view(), .value = value.view()});
}

}  // namespace
}  // namespace palimpsest::engine::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const palimpsest::ByteView rest =
      palimpsest::as_view(std::as_bytes(std::span(data, size)).data(), size).substr(1);
  if (data[0] % 2 == 0) {
    palimpsest::engine::fuzz::exercise_schema(rest);
  } else {
    static palimpsest::engine::fuzz::Room room;
    palimpsest::engine::fuzz::exercise_table(data[0] >= 0x80, rest, room);
  }
  return 0;
}
