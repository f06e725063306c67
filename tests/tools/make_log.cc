// Makes a small log in a directory, for the tests of `palimpsest log`: three transactions in two
// slots, of which one commits, one is rolled back and one is left open.
//
// Beside it lies a page file's header for pages of 16 KiB; one of the values is too long for 4 KiB.
//
// usage: make_log DIR
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "base/aligned_memory.h"
#include "base/clock.h"
#include "base/io/open_device.h"
#include "base/worker_slots.h"
#include "btree/log/tree_record_encode.h"
#include "buffer/file_header.h"
#include "wal/log.h"
#include "wal/log_store.h"
#include "wal/transaction_log.h"

namespace palimpsest {
namespace {

constexpr wal::LogFileOptions kFiles{.segment_bytes = wal::kSegmentBytesMin, .segments_max = 8};
constexpr wal::OperationNeed kNeed{.change_bytes = 1800};

void insert(wal::TransactionLog& transaction, ByteView key, ByteView value) {
  const btree::LoggedInsert record{{TreeId{7}, PageId{12}, 3, key}, {value}};
  static_cast<void>(transaction.try_reserve(kNeed, [] { return false; }));
  transaction.append_change(Gsn{0}, wal::BodyKind::tree, record.encoded_bytes(),
                            [&](MutableBytes into) { record.encode(into); });
}

void make_page_file(io::Device& device) {
  buffer::FileHeader header = buffer::make_file_header();
  header.page_size_bytes = 16384;
  const AlignedMemory block(buffer::kHeaderBlockBytes, buffer::kHeaderBlockBytes);
  buffer::encode_file_header(header, block.bytes());
  const auto file = device.open("pages", io::OpenMode::create_new, true);
  for (std::uint32_t copy = 0; copy < buffer::kHeaderCopies; ++copy) {
    file->write(copy * buffer::kHeaderBlockBytes, block.bytes());
  }
}

void make(const std::string& path) {
  const auto device = io::open_device(path, {.log = {}});
  make_page_file(*device);
  wal::LogStore store = wal::LogStore::create(*device, Uuid{0xAB, 0xCD}, kFiles);
  wal::LogReader reader(store.segments(), store.control().state());
  Clock clock;
  WorkerSlots slots(8);
  const auto log = wal::Log::begin(store, reader.find_end(), clock, slots,
                                   {.slot_log_bytes = 8192,
                                    .record_bytes_max = 2048,
                                    .batch_bytes_max = 8192,
                                    .on_filling = nullptr,
                                    .harden_pages = nullptr});
  const SlotId a = slots.claim(SlotId{0}).value();
  const SlotId b = slots.claim(SlotId{1}).value();
  {
    wal::TransactionLog committed(*log, clock, a);
    insert(committed, "apple", "red");
    insert(committed, "pear", "green");
    log->wait_durable(committed.append_commit());
  }
  {
    wal::TransactionLog rolled_back(*log, clock, a);
    insert(rolled_back, "plum", "blue");
    rolled_back.reserve_compensation(100);
    rolled_back.append_compensation(Gsn{0}, {}, wal::BodyKind::space, 5, [](MutableBytes into) {
      std::fill(into.begin(), into.end(), std::byte{0});
    });
    rolled_back.reserve_end();
    rolled_back.append_rolled_back();
  }
  log->write_pending();
  wal::TransactionLog open(*log, clock, b);
  insert(open, "quince", std::string(1500, 'y'));
  log->write_pending();
}

}  // namespace
}  // namespace palimpsest

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      return 2;
    }
    palimpsest::make(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_log: %s\n", error.what());
    return 1;
  }
}
