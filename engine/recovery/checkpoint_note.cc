#include "engine/recovery/checkpoint_note.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "palimpsest/error.h"

#include "base/file_format.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint32_t kNoteVersion = 1;

struct StoredNote {
  std::uint32_t version;
  std::uint32_t reserved;
  CheckpointNote note;
};
static_assert(sizeof(StoredNote) == 24);

}  // namespace

std::string encode_checkpoint_note(const CheckpointNote& note) {
  const StoredNote stored{.version = kNoteVersion, .reserved = 0, .note = note};
  std::string bytes(sizeof stored, '\0');
  std::memcpy(bytes.data(), &stored, sizeof stored);
  return bytes;
}

CheckpointNote decode_checkpoint_note(std::string_view bytes) {
  if (bytes.empty()) {
    return {};
  }
  StoredNote stored{};
  if (bytes.size() == sizeof stored) {
    std::memcpy(&stored, bytes.data(), sizeof stored);
  }
  if (stored.version != kNoteVersion || stored.reserved != 0 ||
      raw(stored.note.clock) > kCounterMax || stored.note.replayed_up_to > stored.note.clock) {
    throw Error(
        ErrorCode::corruption,
        fmt::format("the note of {} bytes in the log's control file does not have version {}",
                    bytes.size(), kNoteVersion));
  }
  return stored.note;
}

}  // namespace palimpsest::engine
