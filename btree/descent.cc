#include "btree/descent.h"

#include <algorithm>
#include <new>
#include <optional>
#include <span>

namespace palimpsest::btree {

Shortcuts::Guess Descent::guess(ByteView key) const noexcept {
  const Shortcuts::Guess guess =
      shortcuts_ != nullptr ? shortcuts_->guess(key) : Shortcuts::Guess();
  if (pool_->frames().contains(guess.frame)) [[likely]] {
    prefetch_line(&pool_->frames()[guess.frame]);
    buffer::prefetch_for_search(pool_->frames(), guess.frame);
    if (!guess.is_proven) {
      buffer::prefetch_to_look_at(pool_->frames(), guess.frame);
    }
  }
  return guess;
}

void Descent::prefetch_edge(ByteView key, const Shortcuts::Guess& guess) const noexcept {
  if (!guess.is_proven || !pool_->frames().contains(guess.frame)) [[unlikely]] {
    return;
  }
  if (const auto node = pool_->remembered(guess.frame, guess.version)) [[likely]] {
    InnerView(node->page(), page_size()).prefetch_route(key);
  }
}

Attempt<Descent::LeafEdge> Descent::try_edge(ByteView key, const Shortcuts::Guess& guess) const {
  const Target target{key};
  Start start = shortcuts_ != nullptr ? shortcut(key, guess) : Start{};
  if (!start.node.holds() && !at_root(start)) [[unlikely]] {
    return restart;
  }
  for (std::uint32_t at = start.level; at > 1; --at) {
    if (!pool_->descend(start.node, child_of(start.node, target))) {
      return restart;
    }
  }
  if (start.level == 0) {
    return restart;
  }
  const buffer::SwipRef child = child_of(start.node, target);
  if (!start.node.unchanged()) {
    return restart;
  }
  return LeafEdge{std::move(start.node), child};
}

bool Descent::begin_load(const Target& target, std::vector<buffer::BufferPool::Load>& loads) const {
  auto root = root_.resident();
  if (!root) {
    static_cast<void>(root_.begin_load(loads));
    return false;
  }
  buffer::OptimisticPage node = *std::move(root);
  for (;;) {
    const auto step = route(node, target);
    if (!step) {
      return false;
    }
    if (step->level == 0) {
      return true;
    }
    if (!step->child.swip.swizzled()) {
      static_cast<void>(pool_->begin_load(node, step->child, loads));
      return step->level == 1;
    }
    auto child = pool_->follow_resident(node, step->child);
    if (!child) {
      return false;
    }
    node = *std::move(child);
  }
}

Descent::Start Descent::start_covering(ByteView key, FrameIndex frame) const noexcept {
  auto node = buffer::resident_in(pool_->frames(), frame);
  if (!node) {
    return {};
  }
  const InnerView view(node->page(), page_size());
  if (view.type() != buffer::PageType::tree_inner || view.tree_id() != tree_ ||
      !view.mostly_covers(key)) {
    return {};
  }
  return {.node = *std::move(node), .level = view.level()};
}

// Collects nodes from the root down, level by level, while they fit a list. A node that is not in
// memory, or is being changed, is listed without a frame, and replaces all nodes below it. If the
// root is not in memory there is no list.
void Descent::renew_shortcuts() const noexcept {
  std::vector<Shortcuts::Node> nodes;
  shortcuts_->renew([&]() noexcept -> std::span<const Shortcuts::Node> {
    try {
      const auto root = root_.resident();
      if (!root) {
        return {};
      }
      nodes.push_back({.frame = pool_->index_of(root->frame()), .version = root->version()});
      const auto root_level =
          root->read([&](const std::byte* page) { return InnerView(page, page_size()).level(); });
      for (std::uint32_t level = root_level ? *root_level : 0; level > 1; --level) {
        std::vector<Shortcuts::Node> below;
        for (const Shortcuts::Node& node : nodes) {
          collect_children(node, level, below);
          if (below.size() > Shortcuts::kNodesMax) {
            return nodes;
          }
        }
        nodes = std::move(below);
      }
      return nodes;
    } catch (const std::bad_alloc&) {
      return {};
    }
  });
}

// Takes a child's version before it validates the parent, as a walk does; the parent's level is
// read with the children. No children: the parent has changed.
void Descent::collect_children(const Shortcuts::Node& parent, std::uint32_t level,
                               std::vector<Shortcuts::Node>& into) const {
  const std::size_t before = into.size();
  into.resize(before + page_size() / sizeof(InnerSlot) + 1);
  const auto collect = [&](const std::byte* page) {
    const InnerView view(page, page_size());
    const std::size_t children =
        view.level() == level ? std::min<std::size_t>(view.child_count(), into.size() - before) : 0;
    const auto count = static_cast<SlotIndex>(children);
    for (SlotIndex child = 0; child < count; ++child) {
      Shortcuts::Node& found = into[before + child];
      found.set_fence(child == 0 ? parent.fence() : view.prefix(),
                      child == 0 ? ByteView() : view.suffix(child - 1));
      const auto swip = buffer::Swip::of_word(view.swip_at(child));
      const auto version =
          swip.swizzled() ? buffer::version_of(pool_->frames(), swip.frame()) : std::nullopt;
      found.frame = version ? swip.frame() : kNoFrame;
      found.version = version.value_or(0);
    }
    return before + children;
  };
  Attempt<buffer::OptimisticPage> node = restart;
  if (parent.frame != kNoFrame) {
    node = pool_->remembered(parent.frame, parent.version);
  }
  const auto end = node ? node->read(collect) : Attempt<std::size_t>(restart);
  into.resize(end ? *end : before);
  if (into.size() == before) {
    into.push_back(parent);
    into.back().frame = kNoFrame;
  }
}

}  // namespace palimpsest::btree
