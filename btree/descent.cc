#include "btree/descent.h"

namespace palimpsest::btree {

bool Descent::begin_load(const Target& target, std::vector<buffer::BufferPool::Load>& loads) const {
  auto root =
      buffer::OptimisticPage::without_waiting(pool_->frames()[root_], pool_->frames().page(root_));
  if (!root) {
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

}  // namespace palimpsest::btree
