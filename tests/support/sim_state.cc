#include "tests/support/sim_state.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace palimpsest::test {
namespace {

std::size_t sectors_of(const PendingChange& change) noexcept {
  return (change.data.size() + kSectorBytes - 1) / kSectorBytes;
}

/// How a crash with this seed treats what was not durable.
struct CrashProfile {
  std::uint64_t keep_percent = 50;
  bool whole_items = false;  ///< a write persists wholly or not at all
  bool prefix_only = false;  ///< nothing after the first item that is lost
};

CrashProfile profile_of(SimRandom& random, CrashKeeps keeps) {
  if (keeps == CrashKeeps::nothing) {
    return {.keep_percent = 0};
  }
  if (keeps == CrashKeeps::everything) {
    return {.keep_percent = 100};
  }
  constexpr std::array<std::uint64_t, 6> kPercents{0, 100, 50, 50, 10, 90};
  CrashProfile profile{.keep_percent = kPercents[random.below(kPercents.size())]};
  profile.whole_items = random.chance(25);
  profile.prefix_only = random.chance(15);
  return profile;
}

/// Decides item by item, sector by sector.
class Dice {
 public:
  Dice(SimRandom& random, CrashProfile profile) : random_(random), profile_(profile) {}

  bool keeps_item() {
    const bool keeps = !lost_one_ && random_.chance(profile_.keep_percent);
    lost_one_ = lost_one_ || (profile_.prefix_only && !keeps);
    return keeps;
  }
  std::vector<bool> keeps_sectors(const PendingChange& change) {
    std::vector<bool> kept(sectors_of(change));
    if (change.atomic || profile_.whole_items || profile_.prefix_only) {
      std::fill(kept.begin(), kept.end(), keeps_item());
    } else {
      std::generate(kept.begin(), kept.end(), [this] { return keeps_item(); });
    }
    return kept;
  }
  [[nodiscard]] bool is_certain() const {
    return profile_.keep_percent == 0 || profile_.keep_percent == 100;
  }
  SimRandom& random() { return random_; }

 private:
  SimRandom& random_;
  CrashProfile profile_;
  bool lost_one_ = false;
};

/// Sectors in flight: old, new, or neither.
void persist_in_flight(Inode& inode, const PendingChange& change, Dice& dice) {
  if (dice.keeps_item() && change.end_bytes() > inode.durable_size_bytes) {
    inode.durable_size_bytes = change.end_bytes();
  }
  const std::vector<bool> kept = dice.keeps_sectors(change);
  PendingChange arrived = change;
  std::vector<bool> touched = kept;
  if (!change.atomic && !dice.is_certain()) {
    for (std::size_t sector = 0; sector < kept.size(); ++sector) {
      if (dice.random().chance(20)) {
        touched[sector] = true;
        const std::size_t begin = sector * kSectorBytes;
        // Garbage: the front of the sector is new, or nothing is.
        const std::size_t from = begin + (dice.random().chance(50) ? kSectorBytes / 2 : 0);
        const std::size_t end = std::min(begin + kSectorBytes, arrived.data.size());
        for (std::size_t i = from; i < end; ++i) {
          arrived.data[i] = static_cast<std::byte>(dice.random().next());
        }
      }
    }
  }
  inode.apply_to_durable(arrived, &touched);
}

void persist_some(Inode& inode, Dice& dice) {
  for (const auto& change : inode.completed) {
    if (change->kind == PendingChange::Kind::write) {
      const std::vector<bool> kept = dice.keeps_sectors(*change);
      inode.apply_to_durable(*change, &kept);
    } else if (dice.keeps_item()) {
      inode.apply_to_durable(*change);
    }
  }
  for (const auto& change : inode.in_flight) {
    persist_in_flight(inode, *change, dice);
  }
}

}  // namespace

void Inode::complete(PendingChange change) {
  switch (change.kind) {
    case PendingChange::Kind::write: {
      std::vector<std::byte> old(change.data.size());
      cached.read(change.offset_bytes, old);
      previous.write(change.offset_bytes, old);
      cached.write(change.offset_bytes, change.data);
      break;
    }
    case PendingChange::Kind::grow:
      if (change.offset_bytes <= cached_size_bytes && change.offset_bytes <= durable_size_bytes) {
        return;
      }
      cached_size_bytes = std::max(cached_size_bytes, change.offset_bytes);
      break;
    case PendingChange::Kind::truncate:
      cached_size_bytes = change.offset_bytes;
      cached.cut(cached_size_bytes);
      previous.cut(cached_size_bytes);
      break;
  }
  completed.push_back(std::make_shared<const PendingChange>(std::move(change)));
}

void Inode::complete_sectors(PendingChange write, const std::vector<bool>& sectors,
                             std::uint64_t sequence) {
  write.sequence = sequence;
  if (std::find(sectors.begin(), sectors.end(), false) == sectors.end()) {
    complete(std::move(write));
    return;
  }
  for (std::size_t sector = 0; sector < sectors.size(); ++sector) {
    if (sectors[sector]) {
      const auto begin = write.data.begin() + static_cast<std::ptrdiff_t>(sector * kSectorBytes);
      complete({.kind = PendingChange::Kind::write,
                .sequence = sequence,
                .offset_bytes = write.offset_bytes + sector * kSectorBytes,
                .data = {begin, std::min(begin + static_cast<std::ptrdiff_t>(kSectorBytes),
                                         write.data.end())}});
    }
  }
}

void Inode::apply_to_durable(const PendingChange& change, const std::vector<bool>* sectors) {
  switch (change.kind) {
    case PendingChange::Kind::write: {
      const ConstBytes data = change.data;
      for (std::size_t sector = 0; sector < sectors_of(change); ++sector) {
        if (sectors == nullptr || (*sectors)[sector]) {
          const std::size_t begin = sector * kSectorBytes;
          durable.write(change.offset_bytes + begin,
                        data.subspan(begin, std::min(kSectorBytes, data.size() - begin)));
        }
      }
      break;
    }
    case PendingChange::Kind::grow:
      durable_size_bytes = std::max(durable_size_bytes, change.offset_bytes);
      break;
    case PendingChange::Kind::truncate:
      durable_size_bytes = change.offset_bytes;
      durable.cut(durable_size_bytes);
      break;
  }
}

void apply_name_change(const NameChange& change, Names& names) {
  switch (change.kind) {
    case SimKind::create: names[change.name] = change.inode; break;
    case SimKind::remove: names.erase(change.name); break;
    case SimKind::rename:
      names.erase(change.name);
      names[change.new_name] = change.inode;
      break;
    default: break;
  }
}

SimState::Started SimState::start(SimKind kind, std::string_view file) {
  const std::uint64_t number = ++operations;
  Started started{
      .number = number, .fault = {}, .random = SimRandom(options.seed * 0x2545f491U + number)};
  if (powered_off) {
    started.fault = SimFault{};
    return started;
  }
  for (auto fault = faults.begin(); fault != faults.end();) {
    const bool matches = (fault->kinds & static_cast<unsigned>(kind)) != 0 &&
                         (fault->file.empty() || fault->file == file);
    const bool comes_later = matches && fault->nth > 1;
    fault->nth -= comes_later ? 1 : 0;
    if (!matches || comes_later) {
      ++fault;
      continue;
    }
    if (!started.fault) {
      started.fault = *fault;
    }
    fault = fault->for_good ? fault + 1 : faults.erase(fault);
  }
  return started;
}

void SimState::call_hook(const SimOperation& operation) {
  std::shared_ptr<const SimDisk::Hook> current;
  {
    const std::lock_guard guard(mutex);
    current = hook;
  }
  if (current != nullptr) {
    (*current)(operation);
  }
}

std::uint64_t SimState::used_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [id, inode] : inodes) {
    sum += inode.cached_size_bytes;
  }
  return sum;
}

void SimState::drop_if_unused(InodeId id) {
  const auto is_id = [id](const auto& entry) { return entry.second == id; };
  const bool is_pending =
      std::any_of(name_changes.begin(), name_changes.end(),
                  [id](const NameChange& change) { return change.inode == id; });
  if (open_count[id] == 0 && !is_pending && std::none_of(names.begin(), names.end(), is_id) &&
      std::none_of(durable_names.begin(), durable_names.end(), is_id)) {
    inodes.erase(id);
    open_count.erase(id);
  }
}

void SimState::complete(NameChange change) {
  change.sequence = ++last_sequence;
  apply_name_change(change, names);
  name_changes.push_back(std::move(change));
}

std::shared_ptr<SimState> SimState::copy() {
  auto twin = std::make_shared<SimState>(options);
  const std::lock_guard guard(mutex);
  twin->last_sequence = last_sequence;
  twin->last_inode = last_inode;
  for (auto& [id, inode] : inodes) {
    twin->inodes.emplace(id, Inode{.cached = inode.cached.share(),
                                   .previous = inode.previous.share(),
                                   .durable = inode.durable.share(),
                                   .cached_size_bytes = inode.cached_size_bytes,
                                   .durable_size_bytes = inode.durable_size_bytes,
                                   .in_flight = inode.in_flight,
                                   .completed = inode.completed});
  }
  twin->names = names;
  twin->durable_names = durable_names;
  twin->name_changes = name_changes;
  return twin;
}

void SimState::lose_power(std::uint64_t seed, CrashKeeps keeps) {
  const std::lock_guard guard(mutex);
  SimRandom random(seed);
  const CrashProfile profile = profile_of(random, keeps);
  Dice name_dice(random, profile);
  for (const NameChange& change : name_changes) {
    if (name_dice.keeps_item()) {
      apply_name_change(change, durable_names);
    }
  }
  name_changes.clear();
  names = durable_names;
  open_count.clear();

  std::map<InodeId, Inode> survivors;
  for (const auto& [name, id] : names) {
    auto found = inodes.find(id);
    if (found == inodes.end()) {
      continue;  // two names of one file: moved already
    }
    Inode& inode = found->second;
    Dice dice(random, profile);
    persist_some(inode, dice);
    inode.durable.cut(inode.durable_size_bytes);
    survivors.emplace(id, Inode{.cached = inode.durable.share(),
                                .previous = {},
                                .durable = std::move(inode.durable),
                                .cached_size_bytes = inode.durable_size_bytes,
                                .durable_size_bytes = inode.durable_size_bytes});
    inodes.erase(found);
  }
  inodes = std::move(survivors);
}

void SimState::lose_process(std::uint64_t seed) {
  const std::lock_guard guard(mutex);
  SimRandom random(seed);
  for (auto& [id, inode] : inodes) {
    for (const auto& change : std::exchange(inode.in_flight, {})) {
      if (random.chance(50)) {
        const std::uint64_t sequence = ++last_sequence;
        inode.complete({.kind = PendingChange::Kind::grow,
                        .sequence = sequence,
                        .offset_bytes = change->end_bytes()});
        inode.complete_sectors(*change, std::vector<bool>(sectors_of(*change), true), sequence);
      }
    }
  }
}

}  // namespace palimpsest::test
