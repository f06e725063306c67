// Types that the parts of a tree pass to each other.
#pragma once

#include <cstdint>
#include <optional>

#include "btree/large/large_value_format.h"
#include "btree/node/leaf_node.h"
#include "versioning/chain.h"
#include "versioning/entry.h"

namespace palimpsest::btree {

/// The result of a search for a record; its value is returned separately.
struct Found {
  bool exists = false;
  std::uint16_t flags = kPlainRecord;
  bool has_versions = false;  ///< perhaps; the other members are then void
};

/// The state in which a record is looked for.
struct Look {
  /// Null: the newest state.
  Look(const versioning::ReadView* by) noexcept  // NOLINT(google-explicit-constructor)
      : read_view(by), minds_versions(by != nullptr), minded_flags(flags_of(minds_versions)) {}
  /// The newest state of a record without versions; otherwise Found::has_versions is set.
  [[nodiscard]] static Look at_stable() noexcept {
    Look look(nullptr);
    look.minds_versions = true;
    look.minded_flags = flags_of(true);
    return look;
  }

  const versioning::ReadView* read_view;
  bool minds_versions;
  std::uint16_t minded_flags;  ///< records with one of these need a closer look

 private:
  [[nodiscard]] static constexpr std::uint16_t flags_of(bool minds_versions) noexcept {
    return static_cast<std::uint16_t>(kVirtual | (minds_versions ? kHasEntry : 0));
  }
};

enum class WriteMode : std::uint8_t { insert = 1, upsert, update };

struct Written {
  bool existed = false;
  std::optional<LargeValueDescriptor> freed{};  ///< no reader can find it any more
  versioning::WriterId conflicting_writer = versioning::kNoWriter;
};

/// What a purge removed from a leaf.
struct Purged {
  std::size_t ghosts = 0;
  std::uint64_t pages = 0;  ///< freed with them, about
};

/// A search for ghosts to purge, one tree after the other.
struct GhostWalk {
  std::uint64_t pages_wanted = 0;
  std::uint64_t pages = 0;       ///< freed so far
  std::string next{};            ///< a key of the leaf to continue with; empty: the first
  std::uint32_t leaves_max = 0;  ///< the most that one call looks at; 0: no limit
};

}  // namespace palimpsest::btree
