// Several writers on one tree against a tiny model: conflicts exactly where the model has them,
// while pages with claimed records are evicted, split and merged all the time, and roots grow and
// shrink. No image that is written contains anything of an open writer (I-6); in the end nothing of
// it is left.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/random.h"
#include "btree/audit.h"
#include "btree/btree.h"
#include "btree/leaf_entries.h"
#include "btree/node/node_validate.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/record_model.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/test_seconds.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::RecordModel;
using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using test::KeyShape;
using versioning::Writer;
using versioning::WriterId;

/// Looks at every image of a node on its way to the disk, in place or into the ring of copies.
class ImageChecker {
 public:
  ImageChecker(SimDisk& disk, std::uint32_t page_size) : disk_(disk), page_size_(page_size) {
    disk_.set_write_checker([this](std::string_view, std::uint64_t, ConstBytes bytes) {
      for (std::size_t at = 0; at + page_size_ <= bytes.size(); at += page_size_) {
        check(bytes.subspan(at, page_size_));
      }
    });
  }
  ~ImageChecker() { disk_.set_write_checker({}); }

  [[nodiscard]] std::uint64_t leaves() const { return leaves_; }
  [[nodiscard]] std::uint64_t faults() const { return faults_; }

 private:
  // audit_node() accepts only the flags of records on disk, and no byte without an owner.
  void check(ConstBytes bytes) {
    const AlignedMemory image(page_size_, 64);
    std::memcpy(image.data(), bytes.data(), page_size_);
    const buffer::PageHeader header = buffer::header_of(bytes);
    const bool is_leaf = header.type == buffer::PageType::tree_leaf;
    if (!is_leaf && header.type != buffer::PageType::tree_inner) {
      return;
    }
    const auto page_id = [](const void*, std::uint64_t word) noexcept {
      return !buffer::Swip::of_word(word).swizzled();
    };
    leaves_ += is_leaf ? 1U : 0U;
    if (const auto fault = audit_node({image.data(), page_size_}, {.plausible = page_id})) {
      ++faults_;
      ADD_FAILURE() << "page " << raw(header.page_id) << " written: " << *fault;
    }
  }

  SimDisk& disk_;
  std::uint32_t page_size_;
  std::atomic<std::uint64_t> leaves_{0};
  std::atomic<std::uint64_t> faults_{0};
};

class WriterModel {
 public:
  WriterModel(SimDisk& disk, const TreeOptions& options, KeyShape shape, std::uint64_t seed)
      : device_(disk.device()),
        options_(options),
        shape_(shape),
        random_(seed),
        database_(TreeDatabase::create(*device_, options)) {
    for (int i = 0; i < 6; ++i) {
      begin();
    }
  }

  void step() {
    const std::size_t which = random_.below(writers_.size());
    Writer& writer = *writers_[which];
    const std::string key = some_key();
    switch (random_.below(24)) {
      case 0: end(which); break;
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: insert(writer, key); break;
      case 6:
      case 7:
      case 8: upsert(writer, key); break;
      case 9:
      case 10:
      case 11: update(writer, key); break;
      case 12:
      case 13: modify(writer, key); break;
      case 14:
      case 15:
      case 16:
      case 17: remove(writer, key); break;
      case 18: insert_many(writer, key); break;
      default: read(key); break;
    }
  }

  /// One writer removes most of the unclaimed records: merges, and a root that shrinks.
  void remove_much() {
    Writer& writer = *writers_.front();
    std::vector<std::string> keys;
    for (const auto& [key, value] : model_.records) {
      if (!random_.one_in(40)) {
        keys.push_back(key);
      }
    }
    for (const std::string& key : keys) {
      ASSERT_NO_FATAL_FAILURE(remove(writer, key));
    }
  }
  void insert_much(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Writer& writer = *writers_[random_.below(writers_.size())];
      ASSERT_NO_FATAL_FAILURE(
          insert(writer, test::random_key(random_, shape_, options_.page_size_bytes)));
    }
  }

  void check_all() {
    ASSERT_TRUE(sound(*database_));
    std::string value;
    for (const auto& [key, expected] : model_.records) {
      ASSERT_TRUE(tree().lookup(key, value));
      ASSERT_EQ(value, expected);
    }
    // Every claim is known, also where the record or its page is gone.
    Writer stranger(database_->entries(), WriterId{1'000'000});
    for (const auto& [key, holder] : model_.holders) {
      const WriteOutcome outcome = tree().remove(stranger, key);
      ASSERT_TRUE(outcome.conflict);
      ASSERT_EQ(outcome.conflict->with, holder);
    }
    ASSERT_EQ(stranger.claims(), 0U);
    std::size_t claims = 0;
    for (const auto& writer : writers_) {
      claims += writer->claims();
    }
    ASSERT_EQ(claims, model_.holders.size());
  }

  /// Ends all writers and touches every page: nothing of the writers is left.
  void finish() {
    writers_.clear();
    model_.holders.clear();
    for (const std::string& key : model_.keys_ever) {
      const auto record = model_.records.find(key);
      if (record != model_.records.end()) {
        ASSERT_TRUE(tree().update(key, record->second));
      } else {
        ASSERT_FALSE(tree().remove(key));
      }
    }
    EXPECT_EQ(database_->entries().entries(), 0U);
    EXPECT_EQ(database_->entries().tables(), 0U);
    EXPECT_EQ(database_->entries().bytes_in_use(), 0U);
    EXPECT_EQ(database_->pool().orphans().count(), 0U);
    ASSERT_TRUE(sound(*database_));
  }

  /// The file is what a database without writers would have written.
  void reopen() {
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, options_);
    ASSERT_NO_FATAL_FAILURE(check_all());
  }

  [[nodiscard]] std::size_t orphans() { return database_->pool().orphans().count(); }
  [[nodiscard]] std::uint32_t height() { return tree().descent().root_level(); }

 private:
  BTree& tree() { return database_->tree(); }
  LastLeaf* last() { return random_.one_in(2) ? &last_ : nullptr; }

  void begin() {
    writers_.push_back(std::make_unique<Writer>(database_->entries(), WriterId{next_id_++}));
  }
  void end(std::size_t which) {
    model_.end(writers_[which]->id());
    writers_.erase(writers_.begin() + static_cast<std::ptrdiff_t>(which));
    begin();
  }

  std::string some_key() {
    std::string key = test::random_key(random_, shape_, options_.page_size_bytes);
    const std::uint64_t dice = random_.below(4);
    if (dice == 0 && !model_.holders.empty()) {  // one that a writer has changed
      const auto found = model_.holders.lower_bound(key);
      return found != model_.holders.end() ? found->first : model_.holders.begin()->first;
    }
    if (dice <= 2 && !model_.records.empty()) {
      const auto found = model_.records.lower_bound(key);
      return found != model_.records.end() ? found->first : model_.records.begin()->first;
    }
    return key;
  }
  std::string some_value(const std::string& key) {
    if (random_.one_in(200)) {
      return test::random_bytes(random_, random_.below(std::size_t{4} * options_.page_size_bytes));
    }
    return test::random_value(random_, key.size(), options_.page_size_bytes);
  }

  /// Whether the outcome is a conflict, which it must be if and only if the model says so.
  [[nodiscard]] bool conflicts(const WriteOutcome& outcome, const Writer& writer,
                               const std::string& key) {
    const auto conflicting_writer = model_.conflicting_writer(key, writer.id());
    EXPECT_EQ(outcome.conflict.has_value(), conflicting_writer.has_value()) << printable(key);
    if (conflicting_writer && outcome.conflict) {
      EXPECT_EQ(outcome.conflict->with, *conflicting_writer);
      EXPECT_EQ(outcome.conflict->key, key);
    }
    return conflicting_writer.has_value();
  }
  [[nodiscard]] bool exists(const std::string& key) const { return model_.records.contains(key); }

  void insert(Writer& writer, const std::string& key) {
    const std::string value = some_value(key);
    const WriteOutcome outcome = tree().insert(writer, key, value, last());
    if (!conflicts(outcome, writer, key)) {
      ASSERT_EQ(outcome.existed, exists(key));
      if (!outcome.existed) {
        model_.put(key, value, writer.id());
      }
    }
  }
  /// Inserts keys that are consecutive and some that are not, up to the first that is refused.
  void insert_many(Writer& writer, const std::string& first) {
    std::vector<std::pair<std::string, std::string>> made;
    const std::size_t count = random_.below(24);
    for (std::size_t i = 0; i < count; ++i) {
      std::string key = i == 0 || random_.one_in(8) ? some_key() : first;
      if (key == first && key.size() + 1 < key_bytes_max(options_.page_size_bytes)) {
        key.push_back(static_cast<char>(i));
      }
      made.emplace_back(key, some_value(key));
    }
    std::vector<NewRecord> records;
    records.reserve(made.size());
    for (const auto& [key, value] : made) {
      records.push_back({.key = key, .value = value});
    }
    const ManyWritten written = tree().insert_many(writer, records, last());
    ASSERT_LE(written.done, made.size());
    for (std::size_t i = 0; i < written.done; ++i) {
      const auto& [key, value] = made[i];
      ASSERT_FALSE(exists(key) || model_.conflicting_writer(key, writer.id())) << printable(key);
      model_.put(key, value, writer.id());
    }
    if (written.done < made.size()) {
      const std::string& key = made[written.done].first;
      if (!conflicts(written.refused, writer, key)) {
        ASSERT_TRUE(written.refused.existed);
        ASSERT_TRUE(exists(key));
      }
    }
  }
  void upsert(Writer& writer, const std::string& key) {
    const std::string value = some_value(key);
    const WriteOutcome outcome = tree().upsert(writer, key, value, last());
    if (!conflicts(outcome, writer, key)) {
      ASSERT_EQ(outcome.existed, exists(key));
      model_.put(key, value, writer.id());
    }
  }
  void update(Writer& writer, const std::string& key) {
    const std::string value = some_value(key);
    const WriteOutcome outcome = tree().update(writer, key, value, last());
    if (!conflicts(outcome, writer, key)) {
      ASSERT_EQ(outcome.existed, exists(key));
      if (outcome.existed) {
        model_.put(key, value, writer.id());
      }
    }
  }
  void modify(Writer& writer, const std::string& key) {
    const auto record = model_.records.find(key);
    if (record != model_.records.end() &&
        key.size() + record->second.size() > record_bytes_max(options_.page_size_bytes)) {
      return;  // lies outside its leaf
    }
    const char mark = static_cast<char>(random_());
    bool changed = false;
    const auto change = [&](ValueEditor& value) {
      changed = true;
      if (const std::size_t size = value.bytes().size(); size != 0) {
        value.edit(size - 1, 1).front() = mark;
        record->second.back() = mark;
      }
    };
    const WriteOutcome outcome = tree().edit(writer, key, change, last());
    if (!conflicts(outcome, writer, key)) {
      ASSERT_EQ(outcome.existed, record != model_.records.end());
      ASSERT_EQ(changed, outcome.existed);
      if (changed) {
        model_.put(key, std::string(record->second), writer.id());
      }
    } else {
      ASSERT_FALSE(changed);
    }
  }
  void remove(Writer& writer, const std::string& key) {
    const WriteOutcome outcome = tree().remove(writer, key, last());
    if (!conflicts(outcome, writer, key)) {
      ASSERT_EQ(outcome.existed, exists(key));
      if (outcome.existed) {
        model_.remove(key, writer.id());
      }
    }
  }
  void read(const std::string& key) {
    std::string value;
    const auto record = model_.records.find(key);
    ASSERT_EQ(tree().lookup(key, value, last()), record != model_.records.end());
    if (record != model_.records.end()) {
      ASSERT_EQ(value, record->second);
    }
  }

  std::unique_ptr<io::Device> device_;
  TreeOptions options_;
  KeyShape shape_;
  Random random_;
  std::unique_ptr<TreeDatabase> database_;
  RecordModel model_;
  std::uint64_t next_id_ = 1;
  LastLeaf last_;
  std::vector<std::unique_ptr<Writer>> writers_;  // declared last: they end before the database
};

class WriterModelTest : public ::testing::TestWithParam<KeyShape> {};

TEST_P(WriterModelTest, ConflictsAreWhatTheModelSays) {
  const std::uint64_t seed = palimpsest::test::seed();
  SimDisk disk({.seed = seed});
  const TreeOptions options{.page_size_bytes = 4096, .frames = 32};
  const ImageChecker images(disk, options.page_size_bytes);
  WriterModel model(disk, options, GetParam(), seed);
  std::size_t orphans_most = 0;
  std::uint32_t highest = 0;
  for (int phase = 0; phase < 6; ++phase) {
    for (int i = 0; i < palimpsest::test::repeats(6000); ++i) {
      ASSERT_NO_FATAL_FAILURE(model.step());
      orphans_most = std::max(orphans_most, model.orphans());
    }
    ASSERT_NO_FATAL_FAILURE(phase % 2 == 0 ? model.insert_much(3000) : model.remove_much());
    highest = std::max(highest, model.height());
    ASSERT_NO_FATAL_FAILURE(model.check_all());
  }
  ASSERT_NO_FATAL_FAILURE(model.finish());
  ASSERT_NO_FATAL_FAILURE(model.reopen());
  EXPECT_GT(orphans_most, 0U) << "no table was ever evicted with its page";
  EXPECT_GE(highest, 1U);
  EXPECT_GT(images.leaves(), 100U);
  EXPECT_EQ(images.faults(), 0U);
}

// The claims of the last leaf become the root's when the root becomes that leaf.
TEST(Writers, ARootThatBecomesALeafHasItsClaims) {
  SimDisk disk;
  const auto device = disk.device();
  const auto database = TreeDatabase::create(*device, {.page_size_bytes = 4096, .frames = 32});
  BTree& tree = database->tree();
  const std::string value(400, 'v');
  const auto key = [](int number) { return std::to_string(1000 + number); };
  constexpr int kRecords = 40;
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree.insert(key(i), value));
  }
  ASSERT_EQ(tree.descent().root_level(), 1U);
  Writer holder(database->entries(), WriterId{1});
  Writer stranger(database->entries(), WriterId{2});
  constexpr int kHeld = kRecords / 2;
  ASSERT_FALSE(tree.update(holder, key(kHeld), value).conflict);
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_EQ(i != kHeld && tree.remove(key(i)), i != kHeld);
  }
  EXPECT_EQ(tree.descent().root_level(), 0U);
  const WriteOutcome outcome = tree.remove(stranger, key(kHeld));
  ASSERT_TRUE(outcome.conflict);
  EXPECT_EQ(outcome.conflict->with, holder.id());
}

INSTANTIATE_TEST_SUITE_P(KeyShapes, WriterModelTest,
                         ::testing::Values(KeyShape::integer, KeyShape::random_integer,
                                           KeyShape::shared_prefix, KeyShape::outlier,
                                           KeyShape::longest));

}  // namespace
}  // namespace palimpsest::btree
