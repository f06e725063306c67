#include "btree/descent.h"

namespace palimpsest::btree {

void Descent::begin_load(const Target& target, std::vector<buffer::BufferPool::Load>& loads) const {
  auto root =
      buffer::OptimisticPage::without_waiting(pool_->frames()[root_], pool_->frames().page(root_));
  if (!root) {
    return;
  }
  buffer::OptimisticPage node = *std::move(root);
  for (;;) {
    const auto step = route(node, target);
    if (!step || step->level == 0) {
      return;
    }
    if (!step->child.swip.swizzled()) {
      static_cast<void>(pool_->begin_load(node, step->child, loads));
      return;
    }
    auto child = pool_->follow_resident(node, step->child);
    if (!child) {
      return;
    }
    node = *std::move(child);
  }
}

}  // namespace palimpsest::btree
