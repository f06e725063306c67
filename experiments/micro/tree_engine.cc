// tree_bench's engine: one B+-tree in one page file, measured by kv_bench's driver. It uses the
// layers themselves, not the public API, and has no log, transactions or versions: what the tree
// and its buffer pool cost alone.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/io/open_device.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "btree/large/large_value_store.h"
#include "btree/leaf_walk.h"
#include "btree/node/node_kind.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"
#include "buffer/page_kinds.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "experiments/kv_bench/engines.h"
#include "experiments/micro/untorn_device.h"

namespace palimpsest::experiments {
namespace {

constexpr const char* kFileName = "pages";
constexpr TreeId kTree{1};
/// The page writer's batch takes at most this share of the memory.
constexpr std::uint64_t kBatchMemoryDivisor = 16;

/// memcpy of at most a key, inlined.
void copy_short(char* to, const char* from, std::size_t size) noexcept {
  static_assert(kKeyBytes == 2 * sizeof(std::uint32_t));
  if (size < sizeof(std::uint32_t)) {
    for (std::size_t i = 0; i < size; ++i) {
      to[i] = from[i];
    }
    return;
  }
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + size - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + size - sizeof last, &last, sizeof last);
}

class TreeSession final : public KvSession {
 public:
  TreeSession(btree::BTree& tree, bool values_are_large)
      : tree_(tree), values_are_large_(values_are_large) {}

  // Loads insert neighbours: remembering the last leaf saves their descents. Operations on random
  // records would only pay for remembering, so those below do not.
  void insert(ByteView key, ByteView value) override {
    if (!tree_.insert(key, value, &last_)) {
      throw std::runtime_error(fmt::format("record {} was inserted twice", record_of(key)));
    }
  }

  void finish_load() override {}

  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    std::optional<std::size_t> size;
    const auto copy = [&](ByteView value) {
      std::memcpy(out.data(), value.data(), std::min(out.size(), value.size()));
      size = value.size();
    };
    return tree_.lookup_with(key, copy) ? size : std::nullopt;
  }

  bool update(ByteView key, RecordChange& change) override {
    return tree_.modify(key, [&](MutableBytes value) {
      change({reinterpret_cast<char*>(value.data()), value.size()});
    });
  }

  void scan(ByteView from, ScanSink& sink) override {
    if (values_are_large_) {
      scan_large(from, sink);
      return;
    }
    btree::visit_leaves(tree_.descent(), {.lower = from, .upper = {}}, btree::Direction::forward,
                        [&](const btree::LeafView& leaf, btree::SlotIndex first,
                            btree::SlotIndex last) { return visit(leaf, first, last, sink); });
  }

 private:
  /// The leaves hold no values.
  void scan_large(ByteView from, ScanSink& sink) {
    btree::Cursor cursor(tree_);
    std::string value;
    for (cursor.seek(from); cursor.valid() && cursor.read_value(value); cursor.next()) {
      if (!sink.record(cursor.key(), value)) {
        return;
      }
    }
  }

  /// Hands records [first, last) of a leaf to the sink: the prefix is copied once, then the
  /// suffixes.
  static bool visit(const btree::LeafView& leaf, btree::SlotIndex first, btree::SlotIndex last,
                    ScanSink& sink) {
    char key[kKeyBytes];
    const ByteView prefix = leaf.prefix();
    const std::size_t prefix_bytes = std::min(prefix.size(), kKeyBytes);
    std::memcpy(key, prefix.data(), prefix_bytes);
    for (btree::SlotIndex slot = first; slot < last; ++slot) {
      const btree::LeafRecord record = leaf.record(slot);
      const std::size_t suffix_bytes = std::min(record.suffix.size(), kKeyBytes - prefix_bytes);
      copy_short(key + prefix_bytes, record.suffix.data(), suffix_bytes);
      if (!sink.record({key, prefix_bytes + suffix_bytes}, record.value)) {
        return false;
      }
    }
    return true;
  }

  btree::BTree& tree_;
  const bool values_are_large_;
  btree::LastLeaf last_;
};

class TreeEngine final : public KvEngine {
 public:
  explicit TreeEngine(const EngineSettings& settings)
      : device_(open_device(settings)),
        created_(!device_->exists(kFileName)),
        values_are_large_(kKeyBytes + settings.value_bytes > settings.page_bytes / 4),
        file_(created_ ? create_file(*device_, settings) : open_file(*device_, settings)),
        writer_(*file_),
        space_(*file_),
        kind_(*file_),
        pool_(*file_, writer_, space_, register_kind(), pool_options(settings)),
        large_values_(*file_, writer_, space_, &pool_),
        tree_(created_ ? btree::BTree::create(pool_, large_values_, kTree)
                       : btree::BTree::open(pool_, large_values_, kTree, file_->catalog_root())) {
    if (created_) {
      file_->set_catalog_root(tree_.root_page());
    }
  }

  std::unique_ptr<KvSession> open_session(SessionUse /*use*/) override {
    return std::make_unique<TreeSession>(tree_, values_are_large_);
  }

  void finish_load() override { pool_.flush(); }

  EngineStats stats() const override {
    const buffer::PageWriterStatistics written = writer_.statistics();
    return {.page_reads = device_->statistics().read_bytes / file_->page_size_bytes(),
            .page_writes = written.pages_in_place + written.pages_fresh};
  }

  std::string io_description() const override {
    return fmt::format("{}, {}", device_->description(),
                       writer_.atomic_writes() ? "pages written once" : "pages written twice");
  }

  void close() override {
    pool_.flush();
    space_.flush(writer_);
    writer_.harden();
    file_->close_cleanly();
  }

 private:
  static std::unique_ptr<io::Device> open_device(const EngineSettings& settings) {
    io::DeviceOptions options;
    options.create = false;
    auto device = io::open_device(settings.directory.string(), options);
    return settings.double_write ? std::move(device) : claim_untorn(std::move(device));
  }

  static std::unique_ptr<buffer::PageFile> create_file(io::Device& device,
                                                       const EngineSettings& settings) {
    buffer::PageFileOptions options;
    options.page_size_bytes = settings.page_bytes;
    options.batch_pages = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(settings.memory_bytes / kBatchMemoryDivisor / settings.page_bytes,
                                  buffer::kBatchPagesMin, options.batch_pages));
    return buffer::PageFile::create(device, kFileName, options);
  }

  static std::unique_ptr<buffer::PageFile> open_file(io::Device& device,
                                                     const EngineSettings& settings) {
    buffer::OpenOptions options;
    options.page_size_bytes = settings.page_bytes;
    return buffer::PageFile::open(device, kFileName, options);
  }

  const buffer::PageKinds& register_kind() {
    kind_.register_in(kinds_);
    return kinds_;
  }

  /// The memory left by the page writer's batch and the space map.
  [[nodiscard]] buffer::BufferPoolOptions pool_options(const EngineSettings& settings) const {
    const std::uint64_t others =
        std::uint64_t{file_->batch_pages()} * file_->page_size_bytes() + file_->page_count() / 8;
    return {.memory_bytes = settings.memory_bytes - std::min(settings.memory_bytes, others)};
  }

  // In the order of construction; each member uses those before it.
  std::unique_ptr<io::Device> device_;
  bool created_;
  bool values_are_large_;
  std::unique_ptr<buffer::PageFile> file_;
  buffer::PageWriter writer_;
  buffer::SpaceMap space_;
  btree::NodeKind kind_;
  buffer::PageKinds kinds_;
  buffer::BufferPool pool_;
  btree::LargeValueStore large_values_;
  btree::BTree tree_;
};

}  // namespace

std::vector<EngineEntry> known_engines() {
  return {{.traits = {.name = "tree", .memory_mib_min = 8, .takes_double_write = true},
           .open = [](const EngineSettings& settings) -> std::unique_ptr<KvEngine> {
             return std::make_unique<TreeEngine>(settings);
           }}};
}

}  // namespace palimpsest::experiments
