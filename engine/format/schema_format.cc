#include "engine/format/schema_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "palimpsest/error.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint8_t kNullableFlag = 1;
constexpr std::uint8_t kUniqueFlag = 1;

struct TableHeader {
  std::uint16_t version;
  std::uint16_t reserved;
  TreeId tree;
  std::uint16_t column_count;
  std::uint16_t key_count;
  std::uint16_t index_count;
  std::uint16_t reserved2;
};
struct ColumnHeader {
  ColumnType type;
  std::uint8_t flags;
  std::uint8_t precision;
  std::uint8_t scale;
  std::uint32_t length;
};
struct IndexHeader {
  TreeId tree;
  std::uint8_t flags;
  std::uint8_t reserved;
  std::uint16_t column_count;
};
static_assert(sizeof(TableHeader) == 16 && offsetof(TableHeader, tree) == 4);
static_assert(offsetof(TableHeader, column_count) == 8 && offsetof(TableHeader, reserved2) == 14);
static_assert(sizeof(ColumnHeader) == 8 && offsetof(ColumnHeader, length) == 4);
static_assert(sizeof(IndexHeader) == 8 && offsetof(IndexHeader, column_count) == 6);
static_assert(kNameBytesMax <= 0xFF && kColumnsMax <= 0xFFFF && kIndexesMax <= 0xFFFF);

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::corruption, fmt::format("the schema of a table: {}", what));
}

void require(bool holds, std::string_view field) {
  if (!holds) {
    refuse(fmt::format("{} has an invalid value", field));
  }
}

// Writing.

template <class Plain>
void put(std::string& bytes, const Plain& plain) {
  static_assert(std::has_unique_object_representations_v<Plain>);
  bytes.append(static_cast<const char*>(static_cast<const void*>(&plain)), sizeof plain);
}

void put_name(std::string& bytes, const std::string& name) {
  put(bytes, static_cast<std::uint8_t>(name.size()));
  bytes += name;
}

void put_column(std::string& bytes, const ColumnDefinition& column) {
  const DataType& type = column.type;
  put(bytes, ColumnHeader{.type = type.type,
                          .flags = type.nullable ? kNullableFlag : std::uint8_t{0},
                          .precision = static_cast<std::uint8_t>(type.precision),
                          .scale = static_cast<std::uint8_t>(type.scale),
                          .length = type.length});
  put_name(bytes, column.name);
}

void put_numbers(std::string& bytes, const TableSchema& table,
                 const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    put(bytes, static_cast<std::uint16_t>(table.find_column(column).value()));
  }
}

/// Checks what schemas alone do not show; throws invalid_argument.
void check_whole(const StoredTable& table) {
  const auto refuse_argument = [&](std::string_view what) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\": {}", table.schema.name, what));
  };
  table.schema.validate();
  if (table.indexes.size() > kIndexesMax) {
    refuse_argument(
        fmt::format("{} indexes: it has at most {}", table.indexes.size(), kIndexesMax));
  }
  std::vector<TreeId> trees{kNoTree, table.tree};
  std::vector<std::string_view> names;
  for (const StoredIndex& index : table.indexes) {
    index.schema.validate(table.schema);
    trees.push_back(index.tree);
    names.emplace_back(index.schema.name);
  }
  std::ranges::sort(trees);
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(trees) != trees.end()) {
    refuse_argument("a tree number that is invalid or used twice");
  }
  if (std::ranges::adjacent_find(names) != names.end()) {
    refuse_argument("two indexes of the same name");
  }
}

// Reading.

/// Parses bytes; anything missing is corruption that names its field.
class Reader {
 public:
  explicit Reader(ByteView bytes) noexcept : rest_(bytes) {}

  template <class Plain>
  [[nodiscard]] Plain take(std::string_view field) {
    static_assert(std::is_trivially_copyable_v<Plain>);
    Plain plain;
    std::memcpy(&plain, take_bytes(sizeof plain, field).data(), sizeof plain);
    return plain;
  }
  [[nodiscard]] std::string take_name(std::string_view field) {
    return std::string(take_bytes(take<std::uint8_t>(field), field));
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

 private:
  [[nodiscard]] ByteView take_bytes(std::size_t size, std::string_view field) {
    if (size > rest_.size()) {
      refuse(fmt::format("it ends within {}", field));
    }
    const ByteView taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  ByteView rest_;
};

TableHeader take_header(Reader& reader) {
  const auto header = reader.take<TableHeader>("the header");
  if (header.version != kSchemaVersion) {
    throw Error(ErrorCode::unsupported_version,
                fmt::format("the schema of a table: version {}, this build knows {}",
                            header.version, kSchemaVersion));
  }
  require(header.reserved == 0 && header.reserved2 == 0, "reserved");
  require(header.tree != kNoTree, "tree");
  require(header.column_count != 0 && header.column_count <= kColumnsMax, "column_count");
  require(header.key_count != 0 && header.key_count <= kKeyColumnsMax, "key_count");
  require(header.index_count <= kIndexesMax, "index_count");
  return header;
}

ColumnDefinition take_column(Reader& reader) {
  const auto header = reader.take<ColumnHeader>("a column");
  require((header.flags & ~kNullableFlag) == 0, "flags of a column");
  ColumnDefinition column;
  column.type = {.type = header.type,
                 .length = header.length,
                 .precision = header.precision,
                 .scale = header.scale,
                 .nullable = (header.flags & kNullableFlag) != 0};
  column.name = reader.take_name("name of a column");
  return column;
}

std::vector<std::string> take_numbers(Reader& reader, const TableSchema& table, std::size_t count,
                                      std::string_view field) {
  std::vector<std::string> names;
  for (std::size_t taken = 0; taken < count; ++taken) {
    const auto number = reader.take<std::uint16_t>(field);
    require(number < table.columns.size(), field);
    names.push_back(table.columns[number].name);
  }
  return names;
}

StoredIndex take_index(Reader& reader, const TableSchema& table) {
  const auto header = reader.take<IndexHeader>("an index");
  require(header.tree != kNoTree, "tree of an index");
  require((header.flags & ~kUniqueFlag) == 0, "flags of an index");
  require(header.reserved == 0, "reserved of an index");
  require(header.column_count != 0 && header.column_count <= kKeyColumnsMax,
          "column_count of an index");
  StoredIndex index{.schema = {.name = reader.take_name("name of an index")}, .tree = header.tree};
  index.schema.columns = take_numbers(reader, table, header.column_count, "column of an index");
  index.schema.unique = (header.flags & kUniqueFlag) != 0;
  return index;
}

StoredTable take_table(Reader& reader) {
  const TableHeader header = take_header(reader);
  StoredTable table{.schema = {.name = reader.take_name("name")}, .tree = header.tree};
  for (unsigned taken = 0; taken < header.column_count; ++taken) {
    table.schema.columns.push_back(take_column(reader));
  }
  table.schema.key = take_numbers(reader, table.schema, header.key_count, "column of the key");
  for (unsigned taken = 0; taken < header.index_count; ++taken) {
    table.indexes.push_back(take_index(reader, table.schema));
  }
  require(reader.at_end(), "the content after the last index");
  return table;
}

}  // namespace

std::string encode_table(const StoredTable& table) {
  check_whole(table);
  std::string bytes;
  put(bytes, TableHeader{.version = kSchemaVersion,
                         .reserved = 0,
                         .tree = table.tree,
                         .column_count = static_cast<std::uint16_t>(table.schema.columns.size()),
                         .key_count = static_cast<std::uint16_t>(table.schema.key.size()),
                         .index_count = static_cast<std::uint16_t>(table.indexes.size()),
                         .reserved2 = 0});
  put_name(bytes, table.schema.name);
  for (const ColumnDefinition& column : table.schema.columns) {
    put_column(bytes, column);
  }
  put_numbers(bytes, table.schema, table.schema.key);
  for (const StoredIndex& index : table.indexes) {
    put(bytes,
        IndexHeader{.tree = index.tree,
                    .flags = index.schema.unique ? kUniqueFlag : std::uint8_t{0},
                    .reserved = 0,
                    .column_count = static_cast<std::uint16_t>(index.schema.columns.size())});
    put_name(bytes, index.schema.name);
    put_numbers(bytes, table.schema, index.schema.columns);
  }
  return bytes;
}

StoredTable decode_table(ByteView bytes) {
  Reader reader(bytes);
  StoredTable table = take_table(reader);
  try {
    check_whole(table);
  } catch (const Error& error) {
    refuse(error.what());
  }
  return table;
}

}  // namespace palimpsest::engine
