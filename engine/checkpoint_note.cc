#include "engine/checkpoint_note.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "palimpsest/error.h"

#include "base/file_format.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint32_t kNoteVersion = 1;

struct CheckpointNote {
  std::uint32_t version;
  std::uint32_t reserved;
  Gsn clock;
};
static_assert(sizeof(CheckpointNote) == 16);

}  // namespace

std::string encode_checkpoint_note(Gsn clock) {
  const CheckpointNote note{.version = kNoteVersion, .reserved = 0, .clock = clock};
  std::string bytes(sizeof note, '\0');
  std::memcpy(bytes.data(), &note, sizeof note);
  return bytes;
}

Gsn decode_checkpoint_note(std::string_view bytes) {
  if (bytes.empty()) {
    return Gsn{0};
  }
  CheckpointNote note{};
  if (bytes.size() == sizeof note) {
    std::memcpy(&note, bytes.data(), sizeof note);
  }
  if (note.version != kNoteVersion || note.reserved != 0 || raw(note.clock) > kCounterMax) {
    throw Error(ErrorCode::corruption,
                fmt::format("the note of {} bytes in the log's control file is none of version {}",
                            bytes.size(), kNoteVersion));
  }
  return note.clock;
}

}  // namespace palimpsest::engine
