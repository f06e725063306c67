// Changing rows in their stored form equals decoding, changing and encoding them.
#include "experiments/tables/stored_row.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>

namespace palimpsest::experiments {
namespace {

struct Sample {
  std::int64_t sum = 0;
  std::int32_t count = 0;
  FixedText<3> code;
  FixedText<2> pairs[3];
  FixedText<40> name;
  std::int32_t behind = 0;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.count, full(row.code), row.sum, full(row.pairs), row.name, row.behind);
  }
  bool operator==(const Sample&) const = default;
};

static_assert(detail::stored_offset<Sample, &Sample::count>() == 0);
static_assert(detail::stored_offset<Sample, &Sample::sum>() == 7);
static_assert(detail::stored_offset<Sample, &Sample::pairs>() == 15);
static_assert(detail::stored_offset<Sample, &Sample::name>() == 21);
static_assert(detail::stored_offset<Sample, &Sample::behind>() == detail::kNotFixed);
static_assert(detail::fixed_bytes<Sample>() == 22);

class StoredRowTest : public ::testing::Test {
 protected:
  StoredRowTest() {
    row_.sum = -7;
    row_.count = 12;
    row_.code.assign("abc");
    row_.pairs[0].assign("pq");
    row_.pairs[2].assign("xy");
    row_.name.assign("somebody");
    row_.behind = 99;
    bytes_ = EncodedRow(row_).view();
  }

  Sample row_;
  std::string bytes_;
};

TEST_F(StoredRowTest, ShowsWhatWasStored) {
  const StoredRow<const Sample> stored{std::span<const char>(bytes_)};
  EXPECT_EQ(stored.get<&Sample::sum>(), -7);
  EXPECT_EQ(stored.get<&Sample::count>(), 12);
  EXPECT_EQ(stored.text<&Sample::pairs>(0), row_.pairs[0]);
  EXPECT_EQ(stored.text<&Sample::pairs>(1).size(), 0U);
  EXPECT_EQ(stored.text<&Sample::pairs>(2), row_.pairs[2]);
  EXPECT_EQ(stored.variable_text<&Sample::name>(), "somebody");
}

TEST_F(StoredRowTest, SetsAColumnAndNoOther) {
  ValueEditor value(bytes_, nullptr);
  RowEditor row(value);
  const StoredRow<Sample> stored(row);
  stored.set<&Sample::sum>(std::int64_t{1} << 40);
  stored.set<&Sample::count>(-1);
  row_.sum = std::int64_t{1} << 40;
  row_.count = -1;
  Sample read;
  ASSERT_TRUE(decode_row(bytes_, read));
  EXPECT_EQ(read, row_);
}

TEST_F(StoredRowTest, ShorterBytesAreNoRow) {
  EXPECT_TRUE(StoredRow<Sample>::may_be(bytes_));
  EXPECT_TRUE(StoredRow<Sample>::may_be(std::string(22, '\0')));
  EXPECT_FALSE(StoredRow<Sample>::may_be(std::string(21, '\0')));
}

// A length beyond the row's end reads what there is.
TEST_F(StoredRowTest, ADamagedLengthReadsNothingBeyondTheRow) {
  bytes_[21] = '\xFF';
  const StoredRow<const Sample> stored{std::span<const char>(bytes_)};
  EXPECT_EQ(stored.variable_text<&Sample::name>().size(), bytes_.size() - 22);
}

}  // namespace
}  // namespace palimpsest::experiments
