#include "btree/log/tree_record_print.h"

#include <fmt/format.h>

#include "btree/log/tree_record.h"
#include "btree/node/node_image.h"
#include "btree/node/node_print.h"

namespace palimpsest::btree {
namespace {

std::string_view name_of(PageEffect effect) noexcept {
  switch (effect) {
    case PageEffect::change: return "changed";
    case PageEffect::rewrite: return "rewritten";
    case PageEffect::allocate: return "allocated";
    case PageEffect::adopt: return "adopted";
    case PageEffect::free: return "freed";
  }
  return "unknown";
}

std::string flags_text(std::uint16_t flags) {
  std::string text = (flags & kLargeValue) != 0 ? "large" : "plain";
  const auto add = [&](unsigned flag, std::string_view name) {
    text += (flags & flag) != 0 ? name : std::string_view();
  };
  add(kGhost, " ghost");
  add(kCreated, " created");
  add(kDeleted, " deleted");
  add(kShadowed, " shadowed");
  return text;
}

std::string value_text(ByteView value, std::uint16_t flags, std::uint32_t page_size) {
  if ((flags & kNamesLarge) == 0 || value.empty()) {
    return fmt::format("{} bytes \"{}\"", value.size(), printable(value));
  }
  if ((flags & kShadowed) == 0) {
    return print_descriptor(LargeValueDescriptor::decode(value, page_size));
  }
  const RecordState now = now_of({value, flags});
  const RecordState before = *before_of({value, flags});
  return fmt::format("{} over {}", value_text(now.value, now.flags, page_size),
                     value_text(before.value, before.flags, page_size));
}

class Printer {
 public:
  Printer(const TreeRecord& record, std::uint32_t page_size)
      : record_(record), page_size_(page_size) {}

  [[nodiscard]] std::string run() {
    add("{}{} tree {}", record_.compensation ? "undo: " : "", btree::name_of(record_.kind),
        raw(record_.tree));
    visit_pages(record_, [&](PageId page, PageEffect effect) {
      add(" page {}", raw(page));
      if (!record_.is_record_change()) {
        add(" {}", name_of(effect));
      }
    });
    if (record_.is_record_change()) {
      record_change();
    } else if (record_.kind == TreeRecordKind::resolve) {
      add(" {}, epoch {},", record_.resolution == Resolution::kept ? "kept" : "undone",
          raw(record_.epoch));
      slots();
    } else if (record_.kind == TreeRecordKind::purge) {
      slots();
    } else if (record_.kind == TreeRecordKind::bulk_erase) {
      add(" slots");
      for_each_erased(record_.list, [&](SlotIndex slot) { add(" {}", slot); });
    } else if (record_.kind == TreeRecordKind::graft) {
      graft();
    } else if (!record_.right_image.empty()) {
      structure_change();
    }
    return text_;
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> what, Args&&... args) {
    text_ += fmt::format(what, std::forward<Args>(args)...);
  }

  void record_change() {
    add(" slot {} key \"{}\"", record_.slot, printable(record_.key));
    if (record_.flags_before != record_.flags_after && record_.kind != TreeRecordKind::insert &&
        record_.kind != TreeRecordKind::erase) {
      add(" {} -> {}", flags_text(record_.flags_before), flags_text(record_.flags_after));
    }
    switch (record_.kind) {
      case TreeRecordKind::insert:
        add(": {}", value_text(record_.after, record_.flags_after, page_size_));
        break;
      case TreeRecordKind::erase:
        add(": {}", value_text(record_.before, record_.flags_before, page_size_));
        break;
      case TreeRecordKind::patch:
        for_each_patch_run(record_.list, [&](const PatchRun& run) {
          add(" @{} ^ \"{}\"", run.offset, printable(run.difference));
        });
        break;
      case TreeRecordKind::replace:
        add(" @{} {} -> {}", record_.prefix_len,
            value_text(record_.before, record_.flags_before, page_size_),
            value_text(record_.after, record_.flags_after, page_size_));
        break;
      default: break;
    }
  }

  void slots() {
    add(" slots");
    for_each_purged(record_.list, [&](SlotIndex slot, ByteView descriptor) {
      add(" {}", slot);
      if (!descriptor.empty()) {
        add(" ({})", value_text(descriptor, kLargeValue, page_size_));
      }
    });
  }

  void graft() {
    add(" parent's slot {} separators", record_.slot);
    for_each_grafted(record_.list,
                     [&](PageId, ByteView separator) { add(" \"{}\"", printable(separator)); });
  }

  void structure_change() {
    add(" level {}", image_level(record_.right_image));
    if (record_.kind == TreeRecordKind::split) {
      add(" cut {}{}", record_.cut, record_.new_goes_left ? ", the new one goes left" : "");
    }
    if (record_.kind == TreeRecordKind::move) {
      record_.moves_root()
          ? add(" named in slot {} of tree {}", record_.slot, raw(record_.naming_tree))
          : add(" parent's child {}", record_.slot);
    } else if (record_.kind == TreeRecordKind::split || record_.kind == TreeRecordKind::merge) {
      add(" parent's slot {}", record_.slot);
    }
    if (!record_.separator.empty()) {
      add(" separator \"{}\"", printable(record_.separator));
    } else if (record_.kind == TreeRecordKind::merge) {
      add(" separator \"{}\"", printable(image_lower_fence(record_.right_image)));
    }
    add(", images of {} bytes", record_.left_image.size() + record_.right_image.size());
  }

  const TreeRecord& record_;
  std::uint32_t page_size_;
  std::string text_;
};

}  // namespace

std::string print_tree_record(ConstBytes payload, std::uint32_t page_size) {
  TreeRecord record;
  if (const auto fault = parse_tree_record(payload, page_size, record)) {
    return fmt::format("no record of a tree: {}; {} bytes \"{}\"", *fault, payload.size(),
                       printable(as_view(payload.data(), payload.size())));
  }
  return Printer(record, page_size).run();
}

}  // namespace palimpsest::btree
