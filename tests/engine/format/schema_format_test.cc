// Schemas as bytes: the format, decoding, hostile ones.
#include "engine/format/schema_format.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using namespace std::string_literals;

StoredTable small() {
  return {.schema = {.name = "t",
                     .columns = {{"id", int64()}, {"m", nullable(decimal(12, 2))}},
                     .key = {"id"}},
          .tree = TreeId{5},
          .indexes = {{.schema = {.name = "i", .columns = {"m", "id"}, .unique = true},
                       .tree = TreeId{6}}}};
}

/// The bytes of small().
const std::string& small_bytes() {
  static const std::string bytes =
      "\x01\0\0\0\x05\0\0\0\x02\0\x01\0\x01\0\0\0"  // 0: header
      "\x01t"                                       // 16
      "\x05\0\0\0\0\0\0\0\x02id"                    // 18
      "\x08\x01\x0C\x02\0\0\0\0\x01m"               // 29
      "\0\0"                                        // 39: key
      "\x06\0\0\0\x01\0\x02\0\x01i"                 // 41: index
      "\x01\0\0\0"s;                                // 51
  return bytes;
}

StoredTable random_table(Random& random) {
  StoredTable table{.schema = test::random_schema(random), .tree = TreeId{7}};
  for (std::uint32_t count = static_cast<std::uint32_t>(random.below(4)); count > 0; --count) {
    StoredIndex index{.schema = test::random_index(random, table.schema), .tree = TreeId{count}};
    index.schema.name += std::to_string(count);
    table.indexes.push_back(index);
  }
  return table;
}

TEST(SchemaFormat, BytesAreAsTheHeaderSays) {
  EXPECT_EQ(encode_table(small()), small_bytes());
  EXPECT_EQ(decode_table(small_bytes()), small());
}

TEST(SchemaFormat, AnySchemaComesBack) {
  Random random(test::seed());
  for (test::Rounds rounds(200); rounds.next();) {
    const StoredTable table = random_table(random);
    ASSERT_EQ(decode_table(encode_table(table)), table);
  }
}

TEST(SchemaFormat, WhatIsCutOffIsRefused) {
  const std::string& bytes = small_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> exactly(bytes.begin(),
                                    bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(
        test::error_of([&] { return decode_table({exactly.data(), size}); }, "it ends within"),
        ErrorCode::corruption)
        << size;
  }
}

TEST(SchemaFormat, WhatIsWrongIsNamed) {
  struct Case {
    std::size_t at;
    char byte;
    std::string reason;
  };
  const std::vector<Case> cases{
      {2, '\x01', "reserved has an invalid value"},
      {4, '\0', "tree has an invalid"},
      {8, '\0', "column_count has an invalid"},
      {9, '\x10', "column_count has an invalid"},
      {10, '\0', "key_count has an invalid"},
      {12, '\x41', "index_count has an invalid"},
      {14, '\x01', "reserved has an invalid"},
      {17, '\x01', "control characters"},
      {18, '\0', "there is no type 0"},
      {18, '\x0E', "there is no type 14"},
      {18, '\x0C', "column \"id\" of type varchar: a length of 0 bytes"},
      {19, '\x02', "flags of a column has an invalid"},
      {19, '\x01', "must not be nullable"},
      {20, '\x01', "only decimals have precision and scale"},
      {26, '\x7F', "it ends within name of a column"},
      {31, '\x27', "39 digits"},
      {32, '\x0D', "13 digits after the point"},
      {39, '\x02', "column of the key has an invalid"},
      {41, '\0', "tree of an index has an invalid"},
      {41, '\x05', "a tree number that is invalid or used twice"},
      {45, '\x02', "flags of an index has an invalid"},
      {46, '\x01', "reserved of an index has an invalid"},
      {47, '\0', "column_count of an index has an invalid"},
      {47, '\x21', "column_count of an index has an invalid"},
      {51, '\0', "column \"id\" is named twice"},
      {53, '\x02', "column of an index has an invalid"},
  };
  for (const Case& wrong : cases) {
    std::string bytes = small_bytes();
    bytes[wrong.at] = wrong.byte;
    EXPECT_EQ(test::error_of([&] { return decode_table(bytes); }, wrong.reason),
              ErrorCode::corruption)
        << wrong.at;
  }
  EXPECT_EQ(test::error_of([&] { return decode_table(small_bytes() + "x"); },
                           "the content after the last index"),
            ErrorCode::corruption);
}

TEST(SchemaFormat, AnotherVersionIsRefused) {
  std::string bytes = small_bytes();
  bytes[0] = '\x02';
  EXPECT_EQ(test::error_of([&] { return decode_table(bytes); }, "version 2, this build knows 1"),
            ErrorCode::unsupported_version);
}

TEST(SchemaFormat, WhatIsNotValidIsNotEncoded) {
  StoredTable twice = small();
  twice.indexes.push_back(twice.indexes[0]);
  twice.indexes[1].tree = TreeId{8};
  EXPECT_EQ(test::error_of([&] { return encode_table(twice); }, "two indexes of the same name"),
            ErrorCode::invalid_argument);
  StoredTable many = small();
  many.indexes.resize(65, many.indexes[0]);
  EXPECT_EQ(test::error_of([&] { return encode_table(many); }, "65 indexes: it has at most 64"),
            ErrorCode::invalid_argument);
  StoredTable none = small();
  none.tree = kNoTree;
  EXPECT_EQ(test::error_of([&] { return encode_table(none); }, "a tree number that is invalid"),
            ErrorCode::invalid_argument);
  StoredTable wrong = small();
  wrong.indexes[0].schema.columns = {"nobody"};
  EXPECT_EQ(test::error_of([&] { return encode_table(wrong); }, "no column \"nobody\""),
            ErrorCode::invalid_argument);
}

TEST(SchemaFormat, WhatDecodesEncodesToTheSameBytes) {
  Random random(test::seed());
  std::size_t accepted = 0;
  for (test::Rounds rounds(1000); rounds.next();) {
    std::string bytes = encode_table(random_table(random));
    for (std::uint64_t edits = random.between(1, 3); edits > 0; --edits) {
      char& byte = bytes[random.below(bytes.size())];
      byte = static_cast<char>(
          random.one_in(2) ? random() : static_cast<std::uint64_t>(byte) ^ (1U << random.below(8)));
    }
    try {
      const std::string again = encode_table(decode_table(bytes));
      ASSERT_EQ(again, bytes);
      ++accepted;
    } catch (const Error& error) {
      ASSERT_TRUE(error.code() == ErrorCode::corruption ||
                  error.code() == ErrorCode::unsupported_version)
          << error.what();
    }
  }
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace palimpsest::engine
